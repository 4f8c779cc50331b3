/** Knows the master key that `up` keeps in its home, and the one after it while that is put in its place. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { usesMasterKey } from '../../app/master-key-check.ts';
import { lockFile } from '../../embedded/file-lock.ts';
import { writeStateFile } from '../../embedded/state-file.ts';
import { Failure } from '../../failure.ts';
import { Secret } from '../../secret.ts';
import type { MasterKeySettings } from '../../settings/groups/master-keys.ts';
import type { DatabaseSettings } from '../../settings.ts';
import { describeDatabase } from './database.ts';

const keyBytes = 32;

/**
 * The key in `HOME/master.key` (base64, mode 0600). While a rotation is not over, the current one is that
 * in `HOME/master.key.next`, and the other the previous. Null where there is no such file; throws
 * `Failure` when a file holds no key.
 */
export function readHomeKeys(home: string): MasterKeySettings | null {
  // In this order: what is next becomes the key itself, and is found there.
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
    `${path} holds ${key.length} bytes; a master key has ${keyBytes} or more, in base64. ` +
      'Put the original back: the secrets in the database cannot be read without it.',
  );
}

/** Null where there is no such file, also where it is renamed meanwhile. */
function textOf(path: string): string | null {
  try {
    return statSync(path).isFile() ? readFileSync(path, 'utf8') : '';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Writes a new key to `HOME/master.key`, for a database that was made with none yet. */
export function makeHomeKeys(home: string): MasterKeySettings {
  return homeKeys(home, makeKey(keyPathOf(home)));
}

function makeKey(path: string): Secret<Buffer> {
  const key = randomBytes(keyBytes);
  writeStateFile(path, `${key.toString('base64')}\n`);
  return new Secret(key, `file:${path}`);
}

/**
 * The home's key, made where there is none and `database`, which is up, was made with none. Throws
 * `Failure` when that was made with one that the home does not have.
 */
export async function ensureHomeKeys(
  home: string,
  database: DatabaseSettings,
): Promise<MasterKeySettings> {
  const kept = readHomeKeys(home);
  if (kept !== null) return kept;
  await assertNoMasterKey(home, database);
  return makeHomeKeys(home);
}

/** Throws `Failure` when `database` was made with a master key, which the home does not have. */
export async function assertNoMasterKey(home: string, database: DatabaseSettings): Promise<void> {
  if (!(await usesMasterKey(database))) return;
  throw missingHomeKey(home, `The database ${describeDatabase(database)}`);
}

/** Refuses to go on without `HOME/master.key`; `database` names what was made with that key. */
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
 * Lets `rotate` put keys under a new master key, which is the home's from then on. The new one is on the
 * disk before anything is under it, and the old one until nothing is; broken off, it goes on with the
 * same. Throws `Failure` while another does so, and where the home has no key.
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
