/** Tests how the members of an object are found in its text without parsing their values. */
import {
  array,
  constantFrom,
  jsonValue,
  property,
  assert as proved,
  record,
  string,
  tuple,
} from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countMembers, pickMembers } from '../../../../src/model/json/json-object.ts';

/** An object in any valid spelling: any number of members, duplicate keys, white space anywhere. */
const written = record({
  members: array(tuple(string(), jsonValue()), { maxLength: 8 }),
  blank: constantFrom('', ' ', '  '),
}).map(({ members, blank }) => {
  const lines = members.map(
    ([key, value]) => `${JSON.stringify(key)}${blank}:\n${JSON.stringify(value, null, blank)}`,
  );
  return { members, text: `${blank}{${blank}${lines.join(`${blank},\t`)}${blank}}${blank}` };
});

describe('the members of a JSON object', () => {
  it('picks members by name, and takes the last of two with one key', () => {
    proved(
      property(written, ({ members, text }) => {
        const names = [...new Set(members.slice(1).map(([key]) => key))];
        const picked = pickMembers(Buffer.from(text), names);
        const read = JSON.parse(text) as Record<string, unknown>;
        const values = [...picked].map(([name, value]) => [name, JSON.parse(value) as unknown]);
        expect(new Map(values as [string, unknown][])).toEqual(
          new Map(names.map((name) => [name, read[name]])),
        );
      }),
    );
  });

  it('counts members, including each one with a duplicate key', () => {
    proved(
      property(written, ({ members, text }) => {
        expect(countMembers(text)).toBe(members.length);
      }),
    );
  });

  it('recognises a key that is written with escapes', () => {
    const text = String.raw`{"mod\u0065l":"a","model":"b","us\u0061ge":{"é":"}"}}`;
    expect(Object.fromEntries(pickMembers(Buffer.from(text), ['model', 'usage']))).toEqual({
      model: '"b"',
      usage: '{"é":"}"}',
    });
  });

  it('finds no members where the object is incomplete', () => {
    const whole = Buffer.from('{"a":[1,{"b":"}"}],"usage":{"c":2}}');
    for (let length = 1; length < whole.length; length += 1) {
      expect(() => pickMembers(whole.subarray(0, length), ['usage'])).toThrow();
    }
  });
});
