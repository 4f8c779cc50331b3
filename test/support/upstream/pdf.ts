/** Creates PDF files from content streams. */
import { deflateSync } from 'node:zlib';

/** Creates a page for each content stream, for example of {@link pageText}. */
export function pdfOf(contents: readonly Buffer[]): Buffer {
  const pages = contents.map((_, n) => `${4 + 2 * n} 0 R`).join(' ');
  const font = '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>';
  const objects: Buffer[] = [
    Buffer.from('<< /Type /Catalog /Pages 2 0 R >>'),
    Buffer.from(`<< /Type /Pages /Kids [${pages}] /Count ${contents.length} >>`),
    Buffer.from(font),
    ...contents.flatMap((content, n) => [
      Buffer.from(
        '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> ' +
          `/Contents ${5 + 2 * n} 0 R >>`,
      ),
      streamOf(deflateSync(content)),
    ]),
  ];
  const head = Buffer.from('%PDF-1.4\n');
  const parts = objects.map((object, n) =>
    Buffer.concat([Buffer.from(`${n + 1} 0 obj\n`), object, Buffer.from('\nendobj\n')]),
  );
  let at = head.length;
  const places = parts.map((part) => {
    const line = `${String(at).padStart(10, '0')} 00000 n \n`;
    at += part.length;
    return line;
  });
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${places.join('')}`;
  const trailer = `trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${at}\n%%EOF\n`;
  return Buffer.concat([head, ...parts, Buffer.from(table + trailer)]);
}

export function pageText(text: string): Buffer {
  return Buffer.from(`BT /F1 12 Tf 72 720 Td (${text}) Tj ET\n`);
}

function streamOf(deflated: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`<< /Length ${deflated.length} /Filter /FlateDecode >>\nstream\n`),
    deflated,
    Buffer.from('\nendstream'),
  ]);
}
