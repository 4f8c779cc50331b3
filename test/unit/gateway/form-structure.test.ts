/** Verifies which multipart forms are read: only those that every reader understands alike, and none that never ends. */
import { describe, expect, it } from 'vitest';
import { readFormParts } from '../../../src/gateway/transfer/form-fields.ts';

const type = 'multipart/form-data; boundary=b';
const part = (headers: string, text = 'x') => `--b\r\n${headers}\r\n\r\n${text}\r\n`;
const field = 'content-disposition: form-data; name="a"';
const long = 'x'.repeat(128 * 1024);

describe('a multipart form', () => {
  it('is read when each part has one disposition with a name', async () => {
    const file = 'Content-Disposition: form-data; name="f"; filename="a.txt"\r\nContent-Type: a/b';
    const body = `${part(field)}${part(file)}--b--\r\n`;
    const parts = await readFormParts(Buffer.from(body), type);
    expect(parts.map(({ name, bytes }) => [name, bytes.toString()])).toEqual([
      ['a', 'x'],
      ['f', 'x'],
    ]);
  });

  it('is read when a part says that it is not encoded', async () => {
    const body = `${part(`${field}\r\nContent-Transfer-Encoding: 8bit`)}--b--\r\n`;
    expect(await readFormParts(Buffer.from(body), type)).toHaveLength(1);
  });

  it('is read behind a line break', async () => {
    const body = `\r\n${part(field)}--b--\r\n`;
    expect(await readFormParts(Buffer.from(body), type)).toHaveLength(1);
  });

  it.each([
    ['a long part without disposition', `${part('content-type: a/b', long)}--b--`],
    [
      'a long part with another disposition',
      `${part('content-disposition: attachment', long)}--b--`,
    ],
    ['a part without a name', `${part('content-disposition: form-data; x=1')}--b--`],
    ['a line break in a name', `${part(field.replace('"a"', '"a\rb"'))}--b--`],
    [
      'a long file with a line break in its name',
      `${part(`${field}; filename="a\rb"`, long)}--b--`,
    ],
    [
      'a long file with an encoded line break in its name',
      `${part(`${field}; filename*=utf-8''a%0Ab`, long)}--b--`,
    ],
    ['two dispositions', `${part(`${field}\r\n${field}`)}--b--`],
    ['a continued header', `${part(`${field};\r\n name="c"`)}--b--`],
    ['text behind a boundary', `--bx\r\n${field}\r\n\r\nx\r\n--b--`],
    ['a boundary within a part', `${part(field, 'x\r\n--bc')}--b--`],
    ['a part in base64', `${part(`${field}\r\nContent-Transfer-Encoding: base64`)}--b--`],
    ['a part in quotes', `${part(`${field}\r\ncontent-transfer-encoding:quoted-printable`)}--b--`],
    ['no end', part(field)],
    ['no part and no end', 'x'],
    ['headers without end', `--b\r\n${field}`],
    ['long headers', `${part(`${field}\r\nx: ${long}`)}--b--`],
  ])('refuses a form with %s', async (_, body) => {
    await expect(readFormParts(Buffer.from(body), type)).rejects.toThrow('not a valid form');
  });
});
