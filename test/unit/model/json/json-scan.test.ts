/** Verifies that the measure of a body counts what a parser would make of it, and stops at the bounds. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonScan, opensMoreThan } from '../../../../src/model/json/json-scan.ts';

/** Returns the fault, or null when the text is within the bounds. */
function faultOf(text: string, bounds = { valuesMax: 200_000, depthMax: 100 }): string | null {
  const scan = new JsonScan(Buffer.from(text), bounds);
  let fault: string | null = null;
  while (!scan.isDone && fault === null) fault = scan.step();
  return fault;
}

function valuesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, item) => sum + valuesOf(item), 1);
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe('the measure of a JSON body', () => {
  it('counts values and depth like a parser, whatever the texts contain', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(0, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const parsed: unknown = JSON.parse(text);
        const [valuesMax, depthMax] = [valuesOf(parsed), depthOf(parsed)];
        expect(faultOf(text, { valuesMax, depthMax })).toBeNull();
        if (depthMax > 0)
          expect(faultOf(text, { valuesMax, depthMax: depthMax - 1 })).toMatch(/nested/);
        const fewer = { valuesMax: valuesMax - 2, depthMax };
        if (valuesMax > 3) expect(faultOf(text, fewer)).toMatch(/values/);
      }),
      { numRuns: 500 },
    );
  });

  it('counts the members of the outermost object only', () => {
    const scan = new JsonScan(Buffer.from('{"a":{"b":1,"c":":"},"d":[{"e":1}],"a":"\\"}"}'), {
      valuesMax: 100,
      depthMax: 10,
    });
    expect([scan.step(), scan.isDone, scan.members]).toEqual([null, true, 3]);
  });

  const mebibyte = 1024 * 1024;
  it.each([
    ['escapes', `"${'\\n'.repeat(1_000_001)}"`, 'has more than 1000000 escapes'],
    [
      'escapes far apart',
      `"${`${'a'.repeat(28)}\\n`.repeat(1_000_001)}"`,
      'has more than 1000000 escapes',
    ],
    ['blanks', `${' '.repeat(9 * mebibyte)}{}`, 'has more than 8388608 blanks between its values'],
    [
      'long keys',
      `{"${'k'.repeat(5_000_000)}":0,"${'l'.repeat(5_000_000)}":0}`,
      'has more than 8388608 bytes of keys',
    ],
    [
      'escapes of letters',
      `"${'\\u0061'.repeat(10_001)}"`,
      'has more than 10000 escapes of letters and digits',
    ],
    [
      'different keys',
      `[${Array.from({ length: 25_000 }, (_, at) => `{"${at}":0}`).join(',')}]`,
      'has more than 20000 different keys',
    ],
    ['lists in lists', '['.repeat(5 * mebibyte), 'is nested deeper than 100 levels'],
    ['empty objects', `[${'{},'.repeat(5 * mebibyte)}`, 'has more than 200000 values'],
  ])('refuses too many %s', (_, text, fault) => {
    expect(faultOf(text)).toBe(fault);
  });

  it.each([
    ['one long text', `"${'a'.repeat(30 * mebibyte)}"`],
    ['a text without an end', `"${'a'.repeat(30 * mebibyte)}`],
    ['blanks', `${' '.repeat(8 * mebibyte)}{}`],
    ['keys of 8 MB', `{"${'k'.repeat(4_000_000)}":0,"${'l'.repeat(4_000_000)}":0}`],
    ['repeated keys', `[${'{"role":0},'.repeat(60_000)}0]`],
    ['900,000 escapes', `"${'ab\\n'.repeat(900_000)}"`],
  ])('accepts %s', (_, text) => {
    expect(faultOf(text)).toBeNull();
  });

  it('knows cheaply that a body with few lists and maps is not deep', () => {
    expect(opensMoreThan(Buffer.from('[{}]'), 2)).toBe(false);
    expect(opensMoreThan(Buffer.from('[{}]'), 1)).toBe(true);
  });
});
