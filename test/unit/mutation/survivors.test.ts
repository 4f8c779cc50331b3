/** Verifies how mutants are named without line numbers, and the list of those that no test can notice. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listMutants } from '../../../scripts/mutation/mutants.ts';
import {
  entryOf,
  findStale,
  isExplained,
  readSurvivors,
} from '../../../scripts/mutation/survivors.ts';

const source = `export function larger(one: number, other: number): number {
  return one > other ? one : other;
}
`;

function writeSource(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-mutants-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'larger.ts');
  writeFileSync(file, text);
  return file;
}

describe('listMutants', () => {
  it('names a mutant by its declaration, its line and its change', async () => {
    const mutants = await listMutants([writeSource(source)]);
    const found = mutants.find(({ replacement }) => replacement === 'one >= other')!;
    expect(entryOf(found)).toMatchObject({
      within: 'larger',
      line: 'return one > other ? one : other;',
      change: 'EqualityOperator: one > other => one >= other',
    });
    expect(found.span).toEqual({ line: 2, column: 9, endLine: 2, endColumn: 20 });
  });
});

describe('findStale', () => {
  it('keeps an entry when other lines of the file change', async () => {
    const file = writeSource(source);
    const [mutant] = await listMutants([file]);
    const entry = { ...entryOf(mutant!), reason: 'equal' };
    writeFileSync(file, `/** Finds the larger number. */\nconst unused = 1;\n\n${source}`);
    const moved = await listMutants([file]);
    expect(moved.some((one) => isExplained(one, [entry]))).toBe(true);
    expect(await findStale([entry], existsSync)).toEqual([]);
  });

  it('returns an entry when its line changes or its file is gone', async () => {
    const file = writeSource(source);
    const [mutant] = await listMutants([file]);
    const entry = { ...entryOf(mutant!), reason: 'equal' };
    const gone = { ...entry, file: `${file}.gone.ts` };
    writeFileSync(file, source.replace('one > other', 'other < one'));
    expect(await findStale([entry, gone], existsSync)).toEqual([entry, gone]);
  });

  it('finds a mutant in the present code for each entry of the list', async () => {
    const list = readSurvivors();
    expect(await findStale(list, existsSync)).toEqual([]);
    expect(list.filter(({ reason }) => reason.length < 10)).toEqual([]);
  });
});
