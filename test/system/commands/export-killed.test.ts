/** Tests that an export killed while it writes leaves no part of it in its target. */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { spawnTestProcess } from '../../support/server/test-process.ts';

let folder: string;
let target: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatewright-export-'));
  target = join(folder, 'gateway');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Resolves with the exit code and the signal that ended the writer. */
function write(killedAt?: number): Promise<unknown[]> {
  const program = join(import.meta.dirname, 'tree-runner.ts');
  const words = killedAt === undefined ? [] : [String(killedAt)];
  const options = { cwd: folder, env: {}, stdio: ['ignore', 'ignore', 'inherit'] } as const;
  return once(spawnTestProcess([program, target, ...words], options), 'exit');
}

const visibleIn = (path: string): string[] =>
  readdirSync(path).filter((name) => !name.startsWith('.'));

/** Files of the export, without those in hidden folders. */
const exportedFiles = (): number =>
  readdirSync(target, { recursive: true }).filter((name) => /^[^.].*\.yaml$/.test(String(name)))
    .length;

describe('an export that is killed', () => {
  it.each([0, 10, 19])('has not created its folder at file %i, and can be repeated', async (at) => {
    expect(await write(at)).toEqual([null, 'SIGKILL']);
    expect(visibleIn(folder)).toEqual([]);
    expect(await write()).toEqual([0, null]);
    expect(exportedFiles()).toBe(20);
    // The hidden folder was readable by its owner only.
    mkdirSync(join(folder, 'usual'));
    expect(statSync(target).mode).toBe(statSync(join(folder, 'usual')).mode);
  });

  it.each([0, 10, 19])('has changed no existing folder at file %i', async (at) => {
    mkdirSync(target);
    writeFileSync(join(target, 'README.md'), 'mine\n');
    expect(await write(at)).toEqual([null, 'SIGKILL']);
    expect(visibleIn(target)).toEqual(['README.md']);
    expect(await write()).toEqual([0, null]);
    expect(exportedFiles()).toBe(20);
  });
});
