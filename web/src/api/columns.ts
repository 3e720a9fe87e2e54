// Decodes columns: base64 of little-endian numbers, and dictionary-coded text.
import { Strings, type NumberType } from "./payload";
import { count, fields, list, PayloadError, refuse, text, textItem, type Fields } from "./read";

const BYTES_PER: Record<NumberType, number> = { f64: 8, f32: 4, u32: 4, u8: 1 };

/** Newer browsers decode base64 natively, some ten times faster than `atob` with a loop. */
interface NativeBase64 {
  fromBase64?: (data: string) => Uint8Array<ArrayBuffer>;
}

function bytesOf(data: string, at: string): Uint8Array<ArrayBuffer> {
  try {
    const native = (Uint8Array as NativeBase64).fromBase64;
    if (native) return native.call(Uint8Array, data);
    const binary = atob(data);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
  } catch {
    return refuse(`${at}.data`, data, "base64 text");
  }
}

function columnBytes(column: Fields, type: NumberType, rows: number, at: string) {
  const bytes = bytesOf(text(column, "data", at), at);
  const wanted = rows * BYTES_PER[type];
  if (bytes.length !== wanted)
    throw new PayloadError(
      `${at}.data holds ${bytes.length} bytes; expected ${wanted} (${rows} rows of ${type})`,
    );
  return bytes.buffer;
}

function typed(value: unknown, type: string, at: string): Fields {
  const column = fields(value, at);
  if (column["type"] !== type) refuse(`${at}.type`, column["type"], `"${type}"`);
  return column;
}

export function f64(value: unknown, rows: number, at: string): Float64Array {
  return new Float64Array(columnBytes(typed(value, "f64", at), "f64", rows, at));
}
export function f32(value: unknown, rows: number, at: string): Float32Array {
  return new Float32Array(columnBytes(typed(value, "f32", at), "f32", rows, at));
}
export function u32(value: unknown, rows: number, at: string): Uint32Array {
  return new Uint32Array(columnBytes(typed(value, "u32", at), "u32", rows, at));
}
export function u8(value: unknown, rows: number, at: string): Uint8Array {
  return new Uint8Array(columnBytes(typed(value, "u8", at), "u8", rows, at));
}

export function strings(value: unknown, rows: number, at: string): Strings {
  const column = typed(value, "str", at);
  const dict = list(column, "dict", at, textItem);
  const codes = new Uint32Array(columnBytes(column, "u32", rows, at));
  below(codes, dict.length, at, `codes into dict (${dict.length} entries)`);
  return new Strings(dict, codes);
}

/** Refuses a column of references in which one points past the end. */
export function below(column: Uint32Array, limit: number, at: string, what: string): void {
  for (let row = 0; row < column.length; row++) {
    const value = column[row];
    if (value !== undefined && value >= limit)
      throw new PayloadError(`${at} row ${row} is ${value}; expected ${what}`);
  }
}

/** Rows of u32, whose number is known only from the data's own length. */
export function u32Free(value: unknown, at: string): Uint32Array {
  const column = typed(value, "u32", at);
  const bytes = bytesOf(text(column, "data", at), at);
  if (bytes.length % 4 !== 0)
    throw new PayloadError(`${at}.data holds ${bytes.length} bytes; expected a multiple of 4`);
  return new Uint32Array(bytes.buffer);
}

/** A table's row count and a getter for its columns, each with its place for error messages. */
export function table(value: unknown, at: string) {
  const whole = fields(value, at);
  const rows = count(whole, "rows", at);
  const columns = fields(whole["columns"], `${at}.columns`);
  const column = <T>(name: string, decode: (v: unknown, rows: number, at: string) => T): T => {
    const place = `${at}.columns.${name}`;
    if (columns[name] === undefined)
      throw new PayloadError(
        `${place} is missing; the table has: ${
          Object.keys(columns)
            .filter((key) => columns[key] !== undefined)
            .join(", ") || "no columns"
        }`,
      );
    return decode(columns[name], rows, place);
  };
  const has = (name: string): boolean => columns[name] !== undefined;
  return { rows, column, has };
}
