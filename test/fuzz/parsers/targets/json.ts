/** Fuzzes the readers of JSON: each agrees with JSON.parse where it accepts, and throws declared errors only. */
import { parseJson } from '../../../../src/http/input/json.ts';
import { parseExactJson, withoutDigits } from '../../../../src/model/json/exact-numbers.ts';
import {
  countMembers,
  findDuplicateKeys,
  locateMembers,
  pickMembers,
} from '../../../../src/model/json/json-object.ts';
import { JsonScan } from '../../../../src/model/json/json-scan.ts';
import { parseLazily } from '../../../../src/model/json/lazy-object.ts';
import { isObject } from '../../../../src/model/json/read-object.ts';
import { ApiError } from '../../../../src/model/wire/errors.ts';
import { runAtOnce } from '../../../../src/slices.ts';
import { parseExactly } from '../../../../src/upstream/documents/exact-json.ts';
import { type ParserTarget, requireEqual } from '../parser-target.ts';

const bounds = { valuesMax: 20_000, depthMax: 100 };

interface ParseResult {
  readonly value: unknown;
}

/** Null for text that the reader refuses with a declared error. */
function parsedBy(
  read: () => unknown,
  isDeclared: (error: unknown) => boolean,
): ParseResult | null {
  try {
    return { value: read() };
  } catch (error) {
    if (isDeclared(error)) return null;
    throw error;
  }
}

const isSyntaxError = (error: unknown) => error instanceof SyntaxError;

/** Numbers with preserved digits as JavaScript reads them. */
const rounded = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const exactReaders: readonly ExactReader[] = [
  { name: 'parseExactJson', read: parseExactJson, keepsAll: true },
  { name: 'parseExactly', read: parseExactly, keepsAll: false },
];

interface ExactReader {
  readonly name: string;
  readonly read: (text: string) => unknown;
  /** Whether numbers that are no integers keep their digits too. */
  readonly keepsAll: boolean;
}

function checkExact(
  { name, read, keepsAll }: ExactReader,
  text: string,
  plain: ParseResult | null,
) {
  const exact = parsedBy(() => read(text), isSyntaxError);
  if ((exact === null) !== (plain === null)) {
    throw new Error(`${name} ${exact === null ? 'refuses' : 'accepts'} what JSON.parse does not`);
  }
  if (exact === null || plain === null) return;
  // An integer beyond a double keeps its digits, which are infinite when they are read again.
  const found = keepsAll ? rounded(exact.value) : rounded(rounded(exact.value));
  requireEqual(`the value of ${name}`, found, keepsAll ? plain.value : rounded(plain.value));
  const written = JSON.stringify(exact.value);
  requireEqual(`the value of ${name} written again`, JSON.stringify(read(written)), written);
}

/** Compares the readers of members with the parsed object. */
function checkMembers(bytes: Buffer, text: string, value: Record<string, unknown>): void {
  const members = locateMembers(bytes);
  const repeats = runAtOnce(findDuplicateKeys(bytes));
  const names = Object.keys(value);
  const count = countMembers(bytes.toString('latin1'));
  requireEqual('a duplicate member', members === null, count > names.length);
  if (members === null && !repeats) throw new Error('findDuplicateKeys misses a duplicate');
  if (members !== null) {
    requireEqual('the located members', [...members.keys()].toSorted(), names.toSorted());
    for (const [name, { valueStart, end }] of members) {
      requireEqual(
        'a located value',
        JSON.parse(bytes.toString('utf8', valueStart, end)),
        value[name],
      );
    }
    const lazy = parseLazily(bytes, 1_000);
    if (lazy !== null) requireEqual('the lazy object', { ...(lazy as object) }, { ...value });
  }
  const chosen = names.filter((name) => /^[ -~]*$/.test(name)).slice(0, 5);
  const picked = pickMembers(bytes, chosen);
  for (const name of chosen) {
    requireEqual('a picked member', JSON.parse(picked.get(name) ?? '"missing"'), value[name]);
  }
  if (text.length === 0) throw new Error('an empty text is an object');
}

export const jsonTarget: ParserTarget = {
  name: 'json',
  sources: /\/src\/(?:model\/json|http\/input\/json|upstream\/documents\/exact-json)/,
  dictionary: [
    '{"a":',
    '{"a":1,"a":2}',
    '"\\u0061"',
    '"__proto__":',
    '9007199254740993',
    '1e400',
    '-0',
    '0.1',
    '1.0',
    '1E5',
    '\\ud800',
    '\\ud83d\\ude00',
    '\\',
    '"',
    '[',
    ']',
    '{',
    '}',
    ':',
    ',',
    'true',
    'false',
    'null',
    ' ',
    '\u00e9',
    '\ufeff',
    '123456789012345678901234567890',
  ],
  check: (input) => {
    const text = input.toString('utf8');
    const plain = parsedBy(() => JSON.parse(text), isSyntaxError);
    const strict = parsedBy(
      () => parseJson(input, bounds),
      (error) => error instanceof ApiError,
    );
    if (strict !== null) {
      if (plain === null) throw new Error('parseJson accepts what JSON.parse refuses');
      requireEqual('the value of parseJson', rounded(strict.value), rounded(plain.value));
    }
    for (const reader of exactReaders) checkExact(reader, text, plain);
    const scan = new JsonScan(input, bounds);
    while (!scan.isDone && scan.step() === null);
    if (plain === null || !Buffer.from(text).equals(input)) return;
    withoutDigits(plain.value);
    if (isObject(plain.value)) checkMembers(input, text, plain.value);
    else if (strict !== null && runAtOnce(findDuplicateKeys(input))) {
      throw new Error('findDuplicateKeys finds one that parseJson does not');
    }
  },
};
