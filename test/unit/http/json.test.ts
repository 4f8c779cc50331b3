/** Tests the JSON reader: it follows the standard, and rejects what parsers read differently. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../../src/http/input/json.ts';
import { defaultBodyLimits } from '../../../src/model/json/body-limits.ts';
import { ApiError } from '../../../src/model/wire/errors.ts';

function read(text: string | Buffer): unknown {
  return parseJson(Buffer.from(text), defaultBodyLimits);
}

function objectOf(keys: number): string {
  return JSON.stringify(
    Object.fromEntries(Array.from({ length: keys }, (_, at) => [`k${at}`, at])),
  );
}

function refusalOf(text: string | Buffer): string {
  try {
    read(text);
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError);
    expect((error as ApiError).kind).toBe('invalid');
    return (error as ApiError).message;
  }
  throw new Error('nothing was refused');
}

describe('a JSON body', () => {
  it('parses any document like the standard parser', () => {
    fc.assert(
      fc.property(
        fc
          .jsonValue({ maxDepth: 8 })
          .filter((value) => !JSON.stringify(value).includes('__proto__')),
        fc.integer({ min: 0, max: 4 }),
        (value, indent) => {
          const text = JSON.stringify(value, null, indent);
          expect(read(text)).toEqual(JSON.parse(text));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('rejects whatever the standard parser rejects', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '1',
      '-',
      '.5',
      'e',
      'true',
      'nul',
      ' ',
      '\\',
      '"',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join('');
        let standard: boolean;
        try {
          JSON.parse(text);
          standard = true;
        } catch {
          standard = false;
        }
        if (!standard) expect(() => read(text)).toThrow(ApiError);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['the same key twice', '{"a":1,"a":2}', 'same key twice in one object (at character 7)'],
    ['the same key spelled with an escape', '{"a":1,"\\u0061":2}', 'same key twice'],
    ['a key that reaches the prototype', '{"__proto__":{"admin":true}}', 'not allowed'],
    ['a byte order mark', '\ufeff{}', 'byte order mark'],
    ['half of a surrogate pair', '{"a":"\\ud800"}', 'surrogate'],
    ['a whole number that a double rounds', '[9007199254740993]', 'exactly: send it as text'],
    [
      'one below nought',
      '{"a":-12345678901234567891}',
      'exactly: send it as text (at character 5)',
    ],
    ['a number beyond a double', '{"a":1e400}', 'too large (at character 5)'],
    ['NaN', '{"a":NaN}', 'lacks a value (at character 5)'],
    ['trailing data', '{} {}', 'goes on after its end (at character 3)'],
    ['depth', '['.repeat(100_000), 'nested deeper than 64'],
    ['a raw control character', '"a\nb"', 'well-formed string'],
    ['a trailing comma', '[1,]', 'lacks a value'],
    ['nothing but space', '  ', 'lacks a value'],
  ])('rejects a body with %s and states the position of the fault', (_, text, message) => {
    expect(refusalOf(text)).toContain(message);
  });

  it.each([
    [
      'values in a list',
      `[${'0,'.repeat(4998)}0]`,
      `[${'0,'.repeat(4999)}0]`,
      'more than 5000 values',
    ],
    [
      'values at any depth',
      `[${'[0],'.repeat(2499)}0]`,
      `[${'[0],'.repeat(2499)}[0]]`,
      '5000 values',
    ],
    ['keys', objectOf(1000), objectOf(1001), 'object with more than 1000 keys'],
  ])(
    'accepts the maximum number of %s, and rejects one more as too large',
    (_, most, oneMore, message) => {
      expect(read(most)).toEqual(JSON.parse(most));
      expect(() => read(oneMore)).toThrow(expect.objectContaining({ kind: 'tooLarge' }));
      expect(() => read(oneMore)).toThrow(message);
    },
  );

  it('rejects a body that is not UTF-8', () => {
    expect(refusalOf(Buffer.from([0x22, 0xff, 0x22]))).toContain('not valid UTF-8');
  });

  it('is never quoted in the rejection', () => {
    expect(refusalOf('{"secret-value-1": tru')).not.toContain('secret-value-1');
  });
});
