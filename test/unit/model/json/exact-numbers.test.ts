/** Tests that JSON which is read and written again has the digits of its numbers. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  digitsOf,
  parseExactJson,
  readExactJson,
  withoutDigits,
} from '../../../../src/model/json/exact-numbers.ts';
import { writeJson } from '../../../../src/model/json/json-bytes.ts';
import { isObject } from '../../../../src/model/json/read-object.ts';
import { runAtOnce } from '../../../../src/slices.ts';

const digits = (min: number, max: number) =>
  fc.stringMatching(new RegExp(`^[0-9]{${min},${max}}$`));
const wholeNumber = fc.oneof(fc.constant('0'), fc.stringMatching(/^[1-9][0-9]{0,40}$/));
const fraction = fc.oneof(
  fc.constant(''),
  digits(1, 40).map((some) => `.${some}`),
);
const exponent = fc.oneof(fc.constant(''), fc.stringMatching(/^[eE][+-]?[0-9]{1,3}$/));
/** Any number of JSON, in any form. */
const number = fc
  .tuple(fc.constantFrom('', '-'), wholeNumber, fraction, exponent)
  .map((parts) => parts.join(''));
/** JSON without blanks, with members in an order that objects keep. V8 misreads some names with escapes. */
const document = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    number,
    fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
    fc.constantFrom('true', 'false', 'null', '"-0"', '"1e400 \\\\"', '"\\\\\\""'),
    fc.array(tie('value')).map((items) => `[${items.join(',')}]`),
    fc
      .uniqueArray(fc.tuple(fc.stringMatching(/^[a-z_.]{1,9}$/), tie('value')), {
        selector: ([name]) => name,
      })
      .map((members) => members.map(([name, value]) => `${JSON.stringify(name)}:${value}`))
      .map((members) => `{${members.join(',')}}`),
  ),
})).value;

describe('JSON that is read with all digits', () => {
  it('is written byte for byte as it was', () => {
    fc.assert(
      fc.property(document, (text) => {
        const value = runAtOnce(readExactJson(text));
        expect(JSON.stringify(value)).toBe(text);
        expect(JSON.stringify(parseExactJson(text))).toBe(text);
        expect(runAtOnce(writeJson(value)).toString()).toBe(text);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is refused where JSON.parse refuses it', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '1.0',
      '-0',
      '-',
      '01',
      '"',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
        const text = parts.join('');
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        if (isJson) expect(JSON.stringify(parseExactJson(text))).toBe(text);
        else expect(() => parseExactJson(text)).toThrow(SyntaxError);
      }),
      { numRuns: 2_000 },
    );
  });

  it('keeps a member __proto__ and reads escaped names as they are', () => {
    const text = '{"__proto__":{"n":1.0},"a":[{"mode":1.0},{"mod\\u0065":2.0}]}';
    expect(JSON.stringify(parseExactJson(text))).toBe(text.replace('\\u0065', 'e'));
  });
});

describe('a number with all digits', () => {
  it.each(['9007199254740993', '-0', '1e400', '0.12345678901234567890', '1.0'])(
    'is no object: %s',
    (text) => {
      const value = parseExactJson(text);
      expect([isObject(value), digitsOf(value)]).toEqual([false, text]);
    },
  );

  it('is the safe integer that it stands for', () => {
    const values = ['1.0', '1e3', '9007199254740993', '0.50'].map(parseExactJson);
    expect(values.map(withoutDigits)).toEqual([1, 1000, values[2], values[3]]);
  });
});
