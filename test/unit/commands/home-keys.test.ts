/**
 * Checks that the master key in a home is replaced only by a key that is already on disk, and is
 * never lost.
 */
import { mkdtempDisposableSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  createHomeKeys,
  readHomeKeys,
  withNextKey,
} from '../../../src/commands/database/home-keys.ts';
import type { MasterKeySettings } from '../../../src/settings/groups/master-keys.ts';

const texts = ({ current, previous }: MasterKeySettings): string[] =>
  [current, ...previous].map((key) => key.reveal().toString('base64'));

it('keeps the old key until everything is under the next one, and a second run resumes a broken rotation', async () => {
  using home = mkdtempDisposableSync(join(tmpdir(), 'gatewright-'));
  const first = createHomeKeys(home.path);
  const reported: string[][] = [];
  const dies = async (keys: MasterKeySettings) => {
    reported.push(texts(keys));
    // A concurrent process finds both keys.
    expect(texts(first.refresh())).toEqual(texts(keys));
    throw new Error('killed');
  };
  await expect(withNextKey(home.path, dies)).rejects.toThrow('killed');
  await expect(withNextKey(home.path, dies)).rejects.toThrow('killed');
  expect(reported[0]).toEqual([expect.any(String), texts(first)[0]]);
  expect(reported[1]).toEqual(reported[0]);
  expect(texts(readHomeKeys(home.path)!)).toEqual(reported[0]);
  await withNextKey(home.path, async (keys) => expect(texts(keys)).toEqual(reported[0]));
  expect(texts(readHomeKeys(home.path)!)).toEqual([reported[0]![0]]);
  expect(readFileSync(join(home.path, 'master.key'), 'utf8').trim()).toBe(reported[0]![0]);
  expect(statSync(join(home.path, 'master.key')).mode & 0o777).toBe(0o600);
  expect(readdirSync(home.path).toSorted()).toEqual(['master.key', 'master.key.lock']);
});

it('rotates in one process at a time, and only where there is a key', async () => {
  using home = mkdtempDisposableSync(join(tmpdir(), 'gatewright-'));
  const rotate = async () => undefined;
  await expect(withNextKey(home.path, rotate)).rejects.toThrow('master.key is missing');
  createHomeKeys(home.path);
  await withNextKey(home.path, async () => {
    await expect(withNextKey(home.path, rotate)).rejects.toMatchObject({ kind: 'retryable' });
  });
});
