// Reads unknown JSON values into known types; every error says where in the payload, what was
// found and what would be accepted.

/** The payload is not what this page can show; the message is meant for a person. */
export class PayloadError extends Error {
  override name = "PayloadError";
}

export type Fields = { readonly [key: string]: unknown };

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

export function refuse(at: string, found: unknown, accepted: string): never {
  throw new PayloadError(`${at} is ${shown(found)}; expected ${accepted}`);
}

export function fields(value: unknown, at: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    refuse(at, value, "an object");
  return value as Fields;
}

export function text(from: Fields, key: string, at: string): string {
  const value = from[key];
  if (typeof value !== "string") refuse(`${at}.${key}`, value, "text");
  return value;
}

export function finite(from: Fields, key: string, at: string): number {
  const value = from[key];
  if (typeof value !== "number" || !Number.isFinite(value))
    refuse(`${at}.${key}`, value, "a finite number");
  return value;
}

export function finiteOrNull(from: Fields, key: string, at: string): number | null {
  return from[key] === null ? null : finite(from, key, at);
}

export function count(from: Fields, key: string, at: string): number {
  const value = finite(from, key, at);
  if (!Number.isInteger(value) || value < 0)
    refuse(`${at}.${key}`, value, "a whole number, 0 or more");
  return value;
}

export function list<T>(
  from: Fields,
  key: string,
  at: string,
  item: (value: unknown, at: string) => T,
): T[] {
  const value = from[key];
  if (!Array.isArray(value)) refuse(`${at}.${key}`, value, "a list");
  return value.map((entry: unknown, i) => item(entry, `${at}.${key}[${i}]`));
}

export function textItem(value: unknown, at: string): string {
  return typeof value === "string" ? value : refuse(at, value, "text");
}
