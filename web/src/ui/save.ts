// Saves pictures and tables from the page: SVG, PNG, CSV; nothing leaves the machine.

/** PNG files are drawn at this many pixels per CSS pixel, enough for print. */
const PNG_SCALE = 2;

function download(content: Blob, file: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export const fileName = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");

export function saveSvg(svg: string, title: string): void {
  download(new Blob([svg], { type: "image/svg+xml" }), `${fileName(title)}.svg`);
}

/** Draws the SVG into pixels; fails with the browser's own error when it refuses the picture. */
export function savePng(svg: string, title: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onerror = () => reject(new Error(`the browser could not draw ${title} as a picture`));
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = image.naturalWidth * PNG_SCALE;
      canvas.height = image.naturalHeight * PNG_SCALE;
      canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => {
        if (blob) download(blob, `${fileName(title)}.png`);
        resolve();
      }, "image/png");
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  });
}

/** RFC 4180: quotes around fields that need them. */
export function csv(rows: readonly (readonly (string | number)[])[]): string {
  const field = (value: string | number): string =>
    /[",\n\r]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
  return rows.map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
}

/** Copies text; where the browser forbids the clipboard (a file:// page may), selects and copies
 * from a field. Returns false when both failed. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}
