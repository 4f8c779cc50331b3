/** Reads all parts of a multipart form, files included, and writes them again with other texts. */
import { GatewayError } from './gateway-error.ts';

export interface FormPart {
  readonly name: string;
  /** Null for a field. */
  readonly file: { readonly name: string; readonly type: string } | null;
  readonly bytes: Buffer;
}

/** Writes a form with the boundary of the content type. @throws GatewayError when a part contains the boundary */
export function writeForm(parts: readonly FormPart[], contentType: string): Buffer {
  const [, quoted, plain] = /boundary=(?:"([^"]+)"|(\S+))/i.exec(contentType) ?? [];
  const delimiter = `--${quoted ?? plain}`;
  const pieces: Buffer[] = [];
  for (const { name, file, bytes } of parts) {
    if (bytes.includes(`\r\n${delimiter}`)) {
      const message = 'A text of the form contains its boundary after guardrails have changed it';
      throw new GatewayError('invalid_request', message, 'content-type');
    }
    const disposition = `content-disposition: form-data; name="${escaped(name)}"`;
    const ofFile =
      file === null ? '' : `; filename="${escaped(file.name)}"\r\ncontent-type: ${file.type}`;
    pieces.push(Buffer.from(`${delimiter}\r\n${disposition}${ofFile}\r\n\r\n`), bytes, lineEnd);
  }
  pieces.push(Buffer.from(`${delimiter}--\r\n`));
  return Buffer.concat(pieces);
}

const lineEnd = Buffer.from('\r\n');

/** Escapes a name as browsers do. */
function escaped(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}
