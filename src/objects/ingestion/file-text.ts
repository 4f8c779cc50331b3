/** Extracts the text of a file: plain text, Markdown, JSON, HTML or PDF. */
import { extname } from 'node:path';
import { convert } from 'html-to-text';
import { pdfText } from './pdf-text.ts';

/** Reports a file without readable text; the message is shown to its owner. */
export class FileTextError extends Error {
  override name = 'FileTextError';
  readonly code: 'unsupported_file' | 'invalid_file';

  constructor(code: FileTextError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const pdfMark = Buffer.from('%PDF-');
/** PDF readers accept the mark within this distance from the start. */
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
  if (kind === '.pdf') throw new FileTextError('invalid_file', 'The file is not a PDF');
  const text = plainText(bytes);
  if (kind === '.json') refuseNonJson(text);
  return kind === '.html' || kind === '.htm' ? convert(text, htmlOptions) : text;
}

/** Decodes UTF-8 and UTF-16, with or without a byte order mark. */
function plainText(bytes: Buffer): string {
  try {
    const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
    const text = (isUtf16 ? utf16 : utf8).decode(bytes);
    if (!text.includes('\0')) return text;
  } catch {
    // Falls through to the error below.
  }
  const message = 'The file is not text, Markdown, JSON, HTML or PDF';
  throw new FileTextError('unsupported_file', message);
}

function refuseNonJson(text: string): void {
  try {
    JSON.parse(text);
  } catch {
    throw new FileTextError('invalid_file', 'The file is not valid JSON');
  }
}

const htmlOptions = {
  wordwrap: false as const,
  // Deeper nesting indicates a page made to be expensive.
  limits: { maxDepth: 500, maxInputLength: 64 * 1024 * 1024 },
  selectors: [
    { selector: 'a', options: { ignoreHref: true } },
    { selector: 'img', format: 'skip' },
  ],
};
