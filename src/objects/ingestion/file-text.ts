/** Knows which text is in a file: in plain text, Markdown, JSON, HTML and PDF. */
import { extname } from 'node:path';
import { convert } from 'html-to-text';
import { pdfText } from './pdf-text.ts';

/** Of a file in which no text can be read; the message is meant for its owner. */
export class FileTextError extends Error {
  override name = 'FileTextError';
  readonly code: 'unsupported_file' | 'invalid_file';

  constructor(code: FileTextError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const pdfMark = Buffer.from('%PDF-');
/** So far from the beginning readers of PDF look for the mark. */
const pdfMarkWithinBytes = 1_024;
const utf8 = new TextDecoder('utf-8', { fatal: true });
const utf16 = new TextDecoder('utf-16le', { fatal: true });

/** @throws FileTextError */
export async function fileText(name: string, content: Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const kind = extname(name).toLowerCase();
  if (bytes.subarray(0, pdfMarkWithinBytes).includes(pdfMark)) {
    const text = await pdfText(content).catch(() => null);
    if (text === null) throw new FileTextError('invalid_file', 'The PDF cannot be read');
    return text;
  }
  if (kind === '.pdf') throw new FileTextError('invalid_file', 'The file is no PDF');
  const text = plainText(bytes);
  if (kind === '.json') refuseNonJson(text);
  return kind === '.html' || kind === '.htm' ? convert(text, htmlOptions) : text;
}

/** With or without the mark of its order of bytes. */
function plainText(bytes: Buffer): string {
  try {
    const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
    const text = (isUtf16 ? utf16 : utf8).decode(bytes);
    if (!text.includes('\0')) return text;
  } catch {
    // Told below, as all that is no text.
  }
  const message = 'The file is none of text, Markdown, JSON, HTML and PDF';
  throw new FileTextError('unsupported_file', message);
}

function refuseNonJson(text: string): void {
  try {
    JSON.parse(text);
  } catch {
    throw new FileTextError('invalid_file', 'The file is no valid JSON');
  }
}

const htmlOptions = {
  wordwrap: false as const,
  // A page with so many elements within one another is made to be costly.
  limits: { maxDepth: 500, maxInputLength: 64 * 1024 * 1024 },
  selectors: [
    { selector: 'a', options: { ignoreHref: true } },
    { selector: 'img', format: 'skip' },
  ],
};
