/** Checks that a file is read from a form byte for byte, and that malformed forms are rejected. */
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ObjectError } from '../../../src/objects/object-request.ts';
import { readFileForm } from '../../../src/objects/vectors/file-form.ts';

async function sent(fill: (form: FormData) => void): Promise<[Buffer, string]> {
  const form = new FormData();
  fill(form);
  const encoded = new Response(form);
  return [Buffer.from(await encoded.arrayBuffer()), encoded.headers.get('content-type')!];
}

const keepWhole = async (content: AsyncIterable<Buffer>) =>
  Buffer.concat(await Array.fromAsync(content));

/** Yields pieces of 64 KiB, like a socket. */
function fileFormOf(body: Buffer | null, contentType: string | null, bytesMax = 1_000_000) {
  const pieces = (function* () {
    for (let at = 0; at < body!.length; at += 65_536) yield body!.subarray(at, at + 65_536);
  })();
  const upload = body && { bytes: null, pieces: Readable.from(pieces) };
  return readFileForm({ upload, contentType, bytesMax, consume: keepWhole });
}

const type = 'multipart/form-data; boundary=x';
const part = (disposition: string, content = 'text') =>
  `--x\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;
const raw = (...parts: readonly string[]) => Buffer.from(`${parts.join('')}--x--\r\n`);

describe('a form with a file', () => {
  it('yields its bytes, its name and the other parts, in any order of the parts', async () => {
    const content = randomBytes(300_000);
    const body = await sent((form) => {
      form.set('file', new File([content], 'größe 日本.pdf'));
      form.set('purpose', 'assistants');
      form.set('expires_after[seconds]', '3600');
    });
    const form = await fileFormOf(...body);
    expect(form.content.equals(content)).toBe(true);
    expect(form.name).toBe('größe 日本.pdf');
    expect(Object.fromEntries(form.fields)).toEqual({
      purpose: 'assistants',
      'expires_after[seconds]': '3600',
    });
  });

  it('accepts bytes in the file that look like the boundary but do not follow a line break', async () => {
    const { content } = await fileFormOf(raw(part('name=file; filename=a', 'a--x--b')), type);
    expect(content.toString()).toBe('a--x--b');
  });

  it.each([
    ['../../etc/passwd', 'passwd'],
    ['C:\\temp\\notes.txt', 'notes.txt'],
  ])('drops the folders of %s', async (filename, name) => {
    const body = await sent((form) => form.set('file', new File(['a'], filename)));
    expect((await fileFormOf(...body)).name).toBe(name);
  });
});

describe('a rejected form', () => {
  const file = part('name=file; filename=a.txt');
  it.each([
    ['that is JSON', Buffer.from('{}'), 'application/json', 'multipart/form-data'],
    ['without a type', raw(file), null, 'multipart/form-data'],
    ['without a boundary', raw(file), 'multipart/form-data; a=b', 'boundary'],
    ['without a body', null, type, 'not a valid form'],
    ['without a file', raw(part('name=purpose')), type, 'must contain a part'],
    ['whose file has no filename', raw(part('name=file')), type, 'filename'],
    ['whose file has another name', raw(part('name=other; filename=a')), type, 'named file'],
    ['with two files', raw(file, file), type, 'too many'],
    ['with a part twice', raw(part('name=a'), part('name=a'), file), type, 'twice'],
    [
      'with many parts',
      raw(...Array.from({ length: 40 }, (_, n) => part(`name=p${n}`))),
      type,
      'too many',
    ],
    ['with a long part', raw(part('name=a', 'a'.repeat(2_000)), file), type, 'too long'],
    [
      'that ends within the file',
      Buffer.from(file.slice(0, -4)),
      type,
      'not a valid form|within the file',
    ],
    [
      'whose filename changes the text direction',
      raw(part('name=file; filename="a\u202etxt.exe"')),
      type,
      'control',
    ],
    [
      'whose filename has control characters',
      raw(part('name=file; filename="a\tb"')),
      type,
      'control',
    ],
    ['whose filename is a folder', raw(part('name=file; filename=".."')), type, 'filename'],
    ['whose filename is long', raw(part(`name=file; filename=${'a'.repeat(300)}`)), type, '255'],
  ])('%s', async (_, body, contentType, message) => {
    await expect(fileFormOf(body, contentType)).rejects.toMatchObject({
      name: 'ObjectError',
      code: 'invalid_request',
      message: expect.stringMatching(message),
    });
  });
});

describe('a file that is streamed from a form', () => {
  const body = Buffer.concat([
    Buffer.from('--x\r\ncontent-disposition: form-data; name=file; filename=a\r\n\r\n'),
    randomBytes(3_000_000),
    Buffer.from('\r\n--x--\r\n'),
  ]);
  const piecesOf = function* (bytes: Buffer, read: { at: number }) {
    for (; read.at < bytes.length; read.at += 65_536) {
      yield bytes.subarray(read.at, read.at + 65_536);
    }
  };
  const uploadOf = (bytes: Buffer, read = { at: 0 }) => ({
    bytes: null,
    pieces: Readable.from(piecesOf(bytes, read), { highWaterMark: 1 }),
  });

  it('is read no faster than its reader, so that little of it is buffered', async () => {
    const read = { at: 0 };
    let taken = 0;
    let aheadMax = 0;
    const keep = async (content: AsyncIterable<Buffer>) => {
      for await (const piece of content) {
        taken += piece.length;
        aheadMax = Math.max(aheadMax, read.at - taken);
      }
    };
    await readFileForm({
      upload: uploadOf(body, read),
      contentType: type,
      bytesMax: 4_000_000,
      consume: keep,
    });
    expect(taken).toBe(3_000_000);
    expect(aheadMax).toBeLessThan(500_000);
  });

  it('accepts exactly the maximum number of bytes, and not one more', async () => {
    const exact = Buffer.concat([body]);
    const form = { upload: uploadOf(exact), contentType: type, consume: keepWhole };
    expect((await readFileForm({ ...form, bytesMax: 3_000_000 })).content.length).toBe(3_000_000);
    const over = { ...form, upload: uploadOf(exact), bytesMax: 2_999_999 };
    await expect(readFileForm(over)).rejects.toMatchObject({ code: 'body_too_large' });
    const reported = { ...over, upload: { ...uploadOf(exact), bytes: 3_100_000 } };
    await expect(readFileForm(reported)).rejects.toMatchObject({ code: 'body_too_large' });
  });

  it.each([
    ['its caller disconnects', 'the caller has gone'],
    ['its reader fails', 'the disk is full'],
  ])('ends when %s', async (_, message) => {
    let isStored: boolean | null = null;
    const pieces = (async function* () {
      yield body.subarray(0, 1_000_000);
      if (message.startsWith('the caller')) throw new Error(message);
      yield body.subarray(1_000_000);
    })();
    const keep = async (content: AsyncIterable<Buffer>) => {
      try {
        for await (const piece of content) {
          if (piece.length > 0 && message.startsWith('the disk')) throw new Error(message);
        }
        isStored = true;
      } finally {
        isStored ??= false;
      }
    };
    const upload = { bytes: null, pieces };
    const reading = readFileForm({ upload, contentType: type, bytesMax: 4_000_000, consume: keep });
    await expect(reading).rejects.toThrow(message);
    expect(isStored).toBe(false);
  });

  it('is released when a part after it is rejected', async () => {
    const twice = Buffer.concat([
      body.subarray(0, -4),
      Buffer.from('\r\ncontent-disposition: form-data; name=file\r\n\r\na\r\n--x--\r\n'),
    ]);
    const reading = readFileForm({
      upload: uploadOf(twice),
      contentType: type,
      bytesMax: 4_000_000,
      consume: keepWhole,
    });
    await expect(reading).rejects.toThrow(ObjectError);
  });
});
