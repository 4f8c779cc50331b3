/** Compares the document of the gauntlet with its faults and invariants. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { everyFault } from '../gauntlet/faults/every-fault.ts';
import { everyInvariant } from '../gauntlet/invariants/every-invariant.ts';

const text = readFileSync(resolve(import.meta.dirname, '../../docs/reference/gauntlet.md'), 'utf8');

/** Names in the first column of the table below a heading; a cell may have several. */
function namesBelow(heading: string): string {
  const section = text.split(`## ${heading}\n`)[1]!.split('\n## ')[0]!;
  return [...section.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell]) => cell).join(', ');
}

it('lists every kind of fault', () => {
  const listed = namesBelow('Faults');
  expect(everyFault.map(({ name }) => name).filter((name) => !listed.includes(name))).toEqual([]);
});

it('lists every invariant', () => {
  const listed = namesBelow('Invariants');
  expect(everyInvariant.map(({ name }) => name).filter((name) => !listed.includes(name))).toEqual(
    [],
  );
});
