/** Stores the master key of `up` in its home, and rotates it. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { usesMasterKey } from '../../app/master-key-check.ts';
import { writeStateFile } from '../../embedded/state-file.ts';
import { Failure } from '../../failure.ts';
import { lockFile } from '../../file-lock.ts';
import { Secret } from '../../secret.ts';
import type { MasterKeySettings } from '../../settings/groups/master-keys.ts';
import type { DatabaseSettings } from '../../settings.ts';
import { describeDatabase } from './database.ts';

const keyBytes = 32;

/**
 * The key in `HOME/master.key` (base64, mode 0600). During a rotation the current key is that in
 * `HOME/master.key.next`, and the other is the previous one. Null when there is no key file.
 *
 * @throws Failure when a file contains no key
 */
export function readHomeKeys(home: string): MasterKeySettings | null {
  // Read in this order, because a concurrent rotation renames the next key to the key.
  const next = readKey(nextPathOf(home));
  const key = readKey(keyPathOf(home));
  if (key === null) return null;
  return next === null ? homeKeys(home, key) : homeKeys(home, next, key);
}

function homeKeys(
  home: string,
  current: Secret<Buffer>,
  ...previous: readonly Secret<Buffer>[]
): MasterKeySettings {
  const refresh = (): MasterKeySettings => readHomeKeys(home) ?? settings;
  const settings = { current, previous, refresh };
  return settings;
}

function readKey(path: string): Secret<Buffer> | null {
  const text = textOf(path);
  if (text === null) return null;
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length >= keyBytes) return new Secret(key, `file:${path}`);
  throw new Failure(
    'invalidInput',
    `${path} contains ${key.length} bytes; a master key has ${keyBytes} or more, in base64. ` +
      'Put the original back: the secrets in the database cannot be read without it.',
  );
}

/** Null when the file does not exist, or was renamed concurrently. */
function textOf(path: string): string | null {
  try {
    return statSync(path).isFile() ? readFileSync(path, 'utf8') : '';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Writes a new key to `HOME/master.key`, for a database without a master key. */
export function createHomeKeys(home: string): MasterKeySettings {
  return homeKeys(home, makeKey(keyPathOf(home)));
}

function makeKey(path: string): Secret<Buffer> {
  const key = randomBytes(keyBytes);
  writeStateFile(path, `${key.toString('base64')}\n`);
  return new Secret(key, `file:${path}`);
}

/**
 * The key of the home. Creates one if there is none and `database`, which is running, uses none.
 *
 * @throws Failure when the database uses a key that the home does not have
 */
export async function ensureHomeKeys(
  home: string,
  database: DatabaseSettings,
): Promise<MasterKeySettings> {
  const existing = readHomeKeys(home);
  if (existing !== null) return existing;
  await assertNoMasterKey(home, database);
  return createHomeKeys(home);
}

/** @throws Failure when `database` uses a master key, which the home does not have */
export async function assertNoMasterKey(home: string, database: DatabaseSettings): Promise<void> {
  if (!(await usesMasterKey(database))) return;
  throw missingHomeKey(home, `The database ${describeDatabase(database)}`);
}

/** The failure for a missing `HOME/master.key`; `database` names the database that uses the key. */
export function missingHomeKey(home: string, database: string): Failure {
  const path = keyPathOf(home);
  return new Failure(
    'refusedByGuard',
    `${path} is missing. ${database} was made with a master key, and API keys, client secrets and ` +
      'stored secrets in it cannot be used without that key, so no new one was made. ' +
      `Copy the file from a backup of the home to ${path}, or set GATEWRIGHT_MASTER_KEY to the ` +
      'original key. To begin without the data, pass another --home.',
  );
}

/**
 * Runs `rotate` with a new master key, which becomes the key of the home. The new key is on disk before
 * anything is encrypted with it, and the old key until nothing is. An interrupted rotation continues
 * with the same keys.
 *
 * @throws Failure while another rotation runs, and when the home has no key
 */
export async function withNextKey<T>(
  home: string,
  rotate: (keys: MasterKeySettings) => Promise<T>,
): Promise<T> {
  if (readHomeKeys(home) === null) throw missingHomeKey(home, `What runs in ${home}`);
  using lock = lockFile(`${keyPathOf(home)}.lock`);
  if (lock === null) throw new Failure('retryable', `another rotation is under way in ${home}`);
  if (!existsSync(nextPathOf(home))) makeKey(nextPathOf(home));
  const result = await rotate(readHomeKeys(home)!);
  renameSync(nextPathOf(home), keyPathOf(home));
  return result;
}

function keyPathOf(home: string): string {
  return join(home, 'master.key');
}

function nextPathOf(home: string): string {
  return `${keyPathOf(home)}.next`;
}
