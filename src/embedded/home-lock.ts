/** Knows that one process at a time works in a home, and says which one it is. */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Failure } from '../failure.ts';
import { writeStateFile } from './state-file.ts';

const sqliteBusy = 5;
const sqliteNotADatabase = 26;
/** Keeps locks from the garbage collector, which would release them. */
const held = new Set<DatabaseSync>();

interface Holder {
  readonly pid: number;
  readonly address: string | null;
}

export interface HomeLock extends Disposable {
  /** Makes known where the holder can be reached, for the message a second one prints. */
  publishAddress(address: string): void;
}

/**
 * Takes the lock of `home`, making the folder (mode 0700) where missing. It is a lock of the kernel
 * on a file (SQLite's, because Node offers no other), so it ends with the process however that dies
 * and never goes stale. Throws `Failure` (exit 7) naming the holder when another process has it.
 */
export function acquireHomeLock(home: string): HomeLock {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const lockPath = join(home, 'lock');
  const holderPath = join(home, 'running.json');
  const lock = new DatabaseSync(lockPath);
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    const { errcode } = error as { errcode?: number };
    if (errcode === sqliteNotADatabase) throw foreignLock(lockPath, error);
    if (errcode !== sqliteBusy) throw error;
    throw new Failure('retryable', heldMessage(home, readHolder(holderPath)), {
      cause: error,
    });
  }
  const publish = (holder: Holder): void => writeStateFile(holderPath, JSON.stringify(holder));
  held.add(lock);
  publish({ pid: process.pid, address: null });
  return {
    publishAddress: (address) => publish({ pid: process.pid, address }),
    [Symbol.dispose]: () => {
      rmSync(holderPath, { force: true });
      held.delete(lock);
      lock.close();
    },
  };
}

function foreignLock(path: string, cause: unknown): Failure {
  return new Failure(
    'invalidInput',
    `${path} is not a lock of gatewright: remove it when nothing runs in this home, or pass another --home`,
    { cause },
  );
}

function readHolder(path: string): Holder | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Holder;
  } catch {
    return null;
  }
}

function heldMessage(home: string, holder: Holder | null): string {
  const who = holder === null ? 'another process' : `process ${holder.pid}`;
  const where = holder?.address == null ? '' : ` (${holder.address})`;
  return [
    `already running in ${home}: ${who}${where}`,
    holder === null
      ? 'stop it, or pass another folder with --home'
      : `stop it (kill ${holder.pid}), or pass another folder with --home`,
  ].join('\n');
}
