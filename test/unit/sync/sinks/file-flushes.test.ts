/**
 * Checks that new files are flushed together: each is closed, and no file is reported safe when
 * another flush failed.
 */
import {
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FileFlushes } from '../../../../src/sync/sinks/file-flushes.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatewright-flushes-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function written(name: string): number {
  const file = openSync(join(folder, name), 'wx');
  writeSync(file, name);
  return file;
}

/** Compares the name, because the number may have been reused for another file. */
function isOpen(file: number, name: string): boolean {
  try {
    return fstatSync(file).ino === statSync(join(folder, name)).ino;
  } catch {
    return false;
  }
}

const endOf = (work: Promise<void>): Promise<string> =>
  work.then(
    () => 'safe',
    ({ code }: NodeJS.ErrnoException) => code ?? '',
  );

it('flushes and closes concurrent files of one folder', async () => {
  const flushes = new FileFlushes();
  const names = ['one', 'two', 'three'];
  const files = names.map(written);
  expect(names.map((name, at) => isOpen(files[at]!, name))).toEqual([true, true, true]);
  const requested = files.map((file) => flushes.flush(file, folder));
  await Promise.all([...requested, flushes.flushFolder(folder)]);
  expect(names.map((name, at) => isOpen(files[at]!, name))).toEqual([false, false, false]);
  for (const name of names) expect(readFileSync(join(folder, name), 'utf8')).toBe(name);
});

it('fails all flushes of a batch when one fails, and completes later ones', async () => {
  const flushes = new FileFlushes();
  const beside = written('beside');
  const requested = [openSync('/dev/null', 'r'), beside].map((file) => flushes.flush(file, folder));
  expect(await Promise.all(requested.map(endOf))).toEqual(['EINVAL', 'EINVAL']);
  expect(isOpen(beside, 'beside')).toBe(false);
  expect(await endOf(flushes.flush(written('later'), folder))).toBe('safe');
});

it('fails the callers when the folder is gone, and leaves no file open', async () => {
  const flushes = new FileFlushes();
  const file = written('homeless');
  expect(await endOf(flushes.flush(file, join(folder, 'gone')))).toBe('ENOENT');
  expect(isOpen(file, 'homeless')).toBe(false);
});
