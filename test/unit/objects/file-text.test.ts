/**
 * Checks that text is extracted from every supported kind of file, and that no file harms the
 * process.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FileReadPool } from '../../../src/objects/ingestion/file-read-pool.ts';
import { pageText, pdfOf } from '../../support/upstream/pdf.ts';

const sizes = { tokensMax: 800, overlapTokens: 400 };
let readings: FileReadPool;

beforeAll(() => {
  readings = new FileReadPool();
});
afterAll(() => readings[Symbol.dispose]());

const read = (name: string, content: string | Buffer) =>
  readings.read('anyone', async () => ({
    name,
    sizes,
    content: Uint8Array.from(Buffer.from(content)),
  }));
const failed = (code: string, message: string) => ({
  kind: 'failed',
  code,
  message: expect.stringContaining(message),
});

describe('a file', () => {
  it.each([
    ['of text', 'a.txt', 'Grüße, <|endoftext|> 日本', 'Grüße, <|endoftext|> 日本'],
    ['of text without an extension', 'README', 'hello', 'hello'],
    ['of text in UTF-16', 'a.txt', Buffer.from('\ufeffhello ö', 'utf16le'), 'hello ö'],
    ['of Markdown', 'a.md', '# Title\n\ntext', '# Title\n\ntext'],
    ['of JSON', 'a.json', '{"a": [1, 2]}', '{"a": [1, 2]}'],
    [
      'of HTML',
      'a.html',
      '<p>one<script>no()</script> <b>two</b><a href="x">3</a></p>',
      'one two3',
    ],
    [
      'of PDF',
      'a.pdf',
      pdfOf([pageText('first page'), pageText('second')]),
      'first page\n\nsecond',
    ],
  ])('extracts the text of a file %s', async (_, name, content, text) => {
    expect(await read(name, content)).toEqual({ kind: 'done', chunks: [text] });
  });

  it.each([
    [
      'of binary data',
      'a.bin',
      Buffer.from([0xff, 0x00, 0x80, 0x41]),
      'unsupported_file',
      'not text, Markdown',
    ],
    ['with a NUL character', 'a.txt', 'a\0b', 'unsupported_file', 'not text, Markdown'],
    ['with only the extension of PDF', 'a.pdf', 'hello', 'invalid_file', 'not a PDF'],
    [
      'with only the start of a PDF',
      'a.pdf',
      '%PDF-1.7\nhello',
      'invalid_file',
      'PDF cannot be read',
    ],
    ['with only the extension of JSON', 'a.json', '{"a":', 'invalid_file', 'not valid JSON'],
  ])('rejects a file %s', async (_, name, content, code, message) => {
    expect(await read(name, content)).toEqual(failed(code, message));
  });

  it('yields no chunks for a file of white space', async () => {
    expect(await read('a.txt', ' \n\t'.repeat(5_000))).toEqual({ kind: 'done', chunks: [] });
  });

  it('rejects a PDF that unpacks beyond the bound, and reads the next file', async () => {
    const bomb = pdfOf([Buffer.alloc(160 * 1024 * 1024, ' ')]);
    const [end, other] = await Promise.all([read('a.pdf', bomb), read('b.txt', 'hello')]);
    expect(end).toEqual(failed('invalid_file', 'PDF cannot be read'));
    expect(other).toEqual({ kind: 'done', chunks: ['hello'] });
  });
});
