/**
 * Checks that a large object that is parsed lazily equals the result of `JSON.parse`, in any order
 * of access.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasPartsIn } from '../../../../src/gateway/references/owned-references.ts';
import { parseParams } from '../../../../src/gateway/transfer/read-body.ts';
import { memberNames, parseLazily, peekMember } from '../../../../src/model/json/lazy-object.ts';

const membersMax = 20;
const read = (text: string) => parseLazily(Buffer.from(text), membersMax);

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
/** Without escapes, which the runtime itself occasionally reads wrongly: see parseNames. */
const names = fc
  .oneof(
    fc.constantFrom('model', 'messages', 'a b', ':', '__proto__', 'constructor', ''),
    fc.string({ maxLength: 5 }),
  )
  .filter((name) => JSON.stringify(name) === `"${name}"`);
const objects = fc.dictionary(names, values, { maxKeys: 8 });

type Any = Record<string, unknown>;

const got = () => 'got';
const ways: readonly ((object: Any, name: string) => unknown)[] = [
  (object, name) => object[name],
  (object, name) => name in object,
  (object, name) => Object.hasOwn(object, name),
  (object, name) => Object.getOwnPropertyDescriptor(object, name),
  (object, name) => Reflect.get(object, name, {}),
  (object, name) => Reflect.has(object, name),
  (object) => Reflect.ownKeys(object),
  (object) => Object.getOwnPropertySymbols(object),
  (object) => Object.values(object),
  (object) => new Map(Object.entries(object)),
  (object) => Object.getPrototypeOf(object) === Object.prototype,
  (object) => [Object.isExtensible(object), Object.isFrozen(object), Object.isSealed(object)],
  (object) => Object.prototype.toString.call(object),
  // Assigning an own `__proto__` sets the prototype, which a comparison would confuse with the
  // type.
  (object) => Object.entries(Object.assign({ first: 1 }, object)),
  (object) => Object.create(object, {}).messages,
  (object, name) => {
    const { [name]: one, ...rest } = object;
    return [one, rest];
  },
  (object) => {
    const names: string[] = [];
    for (const name in object) names.push(name);
    return names;
  },
  (object, name) => {
    object[name] = 'set';
  },
  (object, name) => Reflect.set(object, name, 'set', object),
  (object, name) => Reflect.set(object, name, 'set', {}),
  (object, name) => Object.defineProperty(object, name, { value: 'defined' })[name],
  (object, name) => Object.defineProperty(object, name, { enumerable: false })[name],
  (object, name) => Reflect.defineProperty(object, name, { get: got, configurable: true }),
  (object, name) => delete object[name],
  (object, name) => Reflect.deleteProperty(object, name),
  (object) => Object.values(Object.preventExtensions(object)),
  (object) => Object.values(Object.seal(object)),
  (object) => Object.values(Object.freeze(object)),
];

function outcomeOf(way: (typeof ways)[number], object: Any, name: string): unknown {
  try {
    return { yielded: way(object, name) };
  } catch (thrown) {
    return { thrown: (thrown as Error).name };
  }
}

describe('a large object', () => {
  test('equals a fully parsed object, in any order and by any kind of access', () => {
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
        expect(memberNames(outlined())).toEqual(keys);
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

  test('behaves like a fully parsed object for any read or change', () => {
    const requested = fc.array(fc.tuple(fc.constantFrom(...ways), fc.nat(8)), { maxLength: 6 });
    fc.assert(
      fc.property(objects, requested, (object, steps) => {
        const text = JSON.stringify(object);
        const whole = JSON.parse(text) as Any;
        const outlined = read(text) as Any | null;
        if (outlined === null) return;
        for (const [way, at] of steps) {
          const name = [...Object.keys(whole), 'none', 'toString'][at] ?? 'other';
          expect(outcomeOf(way, outlined, name)).toEqual(outcomeOf(way, whole, name));
        }
        expect(Object.getOwnPropertyDescriptors(outlined)).toEqual(
          Object.getOwnPropertyDescriptors(whole),
        );
        expect(JSON.stringify(outlined)).toBe(JSON.stringify(whole));
      }),
      { numRuns: 500 },
    );
  });

  test('hides no part of a message behind a name that resembles another', async () => {
    const pad = 'x'.repeat(10_000);
    const message = '{"role":"user","é":[{"file_id":"file-1"}],"\\u00c3\\u00a9":""}';
    const body = Buffer.from(`{"messages":[${message}],"pad":"${pad}"}`);
    const params = await parseParams(body, { valuesMax: 200_000, depthMax: 100 });
    expect(hasPartsIn(params)).toBe(true);
  });

  test('shows its structure before and after access', () => {
    const object = read('{"model":"m","messages":[{"role":"user","content":"ü"}]}')!;
    expect(peekMember(object, 'messages')).toEqual([{ role: 'user', content: 'Ã¼' }]);
    expect(object.messages).toEqual([{ role: 'user', content: 'ü' }]);
    expect(peekMember(object, 'messages')).toEqual([{ role: 'user', content: 'ü' }]);
    expect(peekMember(object, 'model')).toBe('m');
    expect(peekMember({ messages: 'plain' }, 'messages')).toBe('plain');
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
  ])('is parsed completely where it is %s', (_, text) => {
    expect(read(text)).toBeNull();
  });
});
