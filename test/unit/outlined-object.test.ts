/** Knows that a large object says what `JSON.parse` says, whoever asks for whichever of its members first. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { namesOf, outlinedObject, outlineOf } from '../../src/model/outlined-object.ts';

const membersMax = 20;
const read = (text: string) => outlinedObject(Buffer.from(text), membersMax);

const texts = fc.oneof(
  fc.string(),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('ü', '日本', '"\\', '\u2028', 'a"ü"\\u00fc\n', '🙂'),
);
const values = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    texts,
    fc.integer(),
    fc.constantFrom(null, true),
    fc.array(tie('any')),
    fc.dictionary(texts, tie('any')),
  ),
})).any;
const names = fc.oneof(
  fc.constantFrom('model', 'messages', 'a b', '"', '__proto__', 'constructor', ''),
  fc.string({ maxLength: 5 }),
);
const objects = fc.dictionary(names, values, { maxKeys: 8 });

describe('a large object', () => {
  test('says the same as one that is read whole, in any order and in all ways to ask', () => {
    fc.assert(
      fc.property(objects, fc.boolean(), fc.nat(), (object, isWide, from) => {
        const text = JSON.stringify(object, null, isWide ? 2 : undefined);
        const whole = JSON.parse(text) as Record<string, unknown>;
        const keys = Object.keys(whole);
        const first = keys[from % Math.max(1, keys.length)] ?? 'none';
        const isPlain = keys.every((key) => /^[\0-\x7f]*$/.test(key));
        const outlined = () => {
          const found = read(text);
          expect(found === null).toBe(!isPlain);
          return found ?? whole;
        };
        expect(outlined()[first]).toEqual(whole[first]);
        expect({ ...outlined() }).toEqual({ ...whole });
        expect(Object.entries(outlined())).toEqual(Object.entries(whole));
        expect(Object.keys(outlined())).toEqual(keys);
        expect(namesOf(outlined())).toEqual(keys);
        expect(JSON.stringify(outlined())).toBe(JSON.stringify(whole));
        expect(Object.getOwnPropertyDescriptors(outlined())).toEqual(
          Object.getOwnPropertyDescriptors(whole),
        );
        const twice = outlined();
        expect([twice[first], twice[first]]).toEqual([whole[first], whole[first]]);
        expect(Object.hasOwn(twice, first)).toBe(Object.hasOwn(whole, first));
      }),
      { numRuns: 500 },
    );
  });

  test('shows how a member is put together, before and after it was asked for', () => {
    const object = read('{"model":"m","messages":[{"role":"user","content":"ü"}]}')!;
    expect(outlineOf(object, 'messages')).toEqual([{ role: 'user', content: 'Ã¼' }]);
    expect(object.messages).toEqual([{ role: 'user', content: 'ü' }]);
    expect(outlineOf(object, 'messages')).toEqual([{ role: 'user', content: 'ü' }]);
    expect(outlineOf(object, 'model')).toBe('m');
    expect(outlineOf({ messages: 'plain' }, 'messages')).toBe('plain');
  });

  test.each([
    ['no JSON', '{"a":"ü"'],
    ['a list', '["ü"]'],
    ['a word', 'null'],
    ['a text', '"ü"'],
    ['a key twice', '{"a":1,"b":"ü","\\u0061":2}'],
    ['a key beyond ASCII', '{"ü":1}'],
    [
      'more members',
      JSON.stringify(Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`a${at}`, 'ü']))),
    ],
  ])('is read whole where it is %s', (_, text) => {
    expect(read(text)).toBeNull();
  });
});
