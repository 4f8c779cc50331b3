/** Guarantees that a file is taken from a form as it was sent, and that no other form is taken for one. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { fileFormOf } from '../../src/objects/vectors/file-form.ts';

async function sent(fill: (form: FormData) => void): Promise<[Buffer, string]> {
  const form = new FormData();
  fill(form);
  const encoded = new Response(form);
  return [Buffer.from(await encoded.arrayBuffer()), encoded.headers.get('content-type')!];
}

const type = 'multipart/form-data; boundary=x';
const part = (disposition: string, content = 'text') =>
  `--x\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;
const raw = (...parts: readonly string[]) => Buffer.from(`${parts.join('')}--x--\r\n`);

describe('a form with a file', () => {
  it('gives its bytes, its name and the other parts, in whatever order they come', async () => {
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

  it('may have bytes in the file that look like its own boundary without a line before', async () => {
    const { content } = await fileFormOf(raw(part('name=file; filename=a', 'a--x--b')), type);
    expect(content.toString()).toBe('a--x--b');
  });

  it.each([
    ['../../etc/passwd', 'passwd'],
    ['C:\\temp\\notes.txt', 'notes.txt'],
  ])('loses the folders of %s', async (filename, name) => {
    const body = await sent((form) => form.set('file', new File(['a'], filename)));
    expect((await fileFormOf(...body)).name).toBe(name);
  });
});

describe('a form is refused', () => {
  const file = part('name=file; filename=a.txt');
  it.each([
    ['that is JSON', Buffer.from('{}'), 'application/json', 'multipart/form-data'],
    ['without a type', raw(file), null, 'multipart/form-data'],
    ['without a boundary', raw(file), 'multipart/form-data; a=b', 'boundary'],
    ['without a body', null, type, 'no valid form'],
    ['without a file', raw(part('name=purpose')), type, 'must be sent'],
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
    ['that ends in the file', Buffer.from(file.slice(0, -4)), type, 'no valid form|in the midst'],
    [
      'whose filename turns letters round',
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
