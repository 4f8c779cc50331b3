/** Ensures that one process at a time uses a home, and names the holder. */
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { Failure } from '../failure.ts';
import { isNotLockFile, lockFile } from '../file-lock.ts';
import { writeStateFile } from './state-file.ts';

interface Holder {
  readonly pid: number;
  readonly address: string | null;
}

export interface HomeLock extends Disposable {
  /** Publishes the address of the holder for the error message of a second process. */
  publishAddress(address: string): void;
}

/**
 * Creates the folder `home` (mode 0700) if missing.
 *
 * @throws Failure when it cannot be created, is not a folder, is not writable, or others may write there
 */
export function makeHome(home: string): void {
  try {
    makeFolder(home);
    accessSync(`${home}/`, constants.R_OK | constants.W_OK | constants.X_OK);
    // It will contain keys and credentials, and is often inside a Git working tree.
    if (readdirSync(home).length === 0) writeFileSync(join(home, '.gitignore'), '*\n');
  } catch (error) {
    throw unusableHome(home, error as NodeJS.ErrnoException);
  }
  const writers = writersBeside(home);
  if (writers === null) return;
  throw new Failure(
    'invalidInput',
    `${home} cannot be the home, because ${writers} may write there and could replace its keys and ` +
      `credentials. Run \`chmod go-w ${home}\` as its owner, or pass another folder by --home or ` +
      'GATEWRIGHT_HOME.',
  );
}

/**
 * Names who may write to a folder beside this user; null for nobody. Root is trusted, and so is its
 * group, to which images and volumes of clusters give such folders.
 */
function writersBeside(home: string): string | null {
  const { mode, uid, gid } = statSync(home);
  const own = process.getuid?.() ?? uid;
  if ((mode & 0o002) !== 0) return 'every user';
  if (gid === 0) return null;
  if (uid !== own && uid !== 0) return 'another user, its owner,';
  // A volume that belongs to root is shared with the group of its pod only.
  return uid === own && (mode & 0o020) !== 0 ? 'its group' : null;
}

/** Node's recursive mkdir never returns for a folder that accepts no entries (/proc). */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || existsSync(dirname(path))) throw error;
    makeFolder(dirname(path));
    mkdirSync(path, { mode: 0o700 });
  }
}

const homeFaults: Record<string, string> = {
  ENOTDIR: 'it, or its parent, is not a folder',
  ENOENT: 'the system makes no folder there',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'it is on a read-only file system',
  ENOSPC: 'the disk is full',
  ELOOP: 'its symbolic links lead in a circle',
};

function unusableHome(home: string, error: NodeJS.ErrnoException): Failure {
  const reason = homeFaults[String(error.code)] ?? error.message;
  return new Failure(
    'invalidInput',
    `${home} cannot be the home: ${reason}. ` +
      'Pass a folder that this user may write, by --home or GATEWRIGHT_HOME.',
    { cause: error },
  );
}

/** Whether another process uses `home` now. */
export function isHeld(home: string): boolean {
  // The lock is probed only if a holder seems alive, because probing blocks others from taking it.
  const holder = readHolder(join(home, 'running.json'));
  if (holder === null) return false;
  try {
    acquireHomeLock(home)[Symbol.dispose]();
    return false;
  } catch {
    return true;
  }
}

/**
 * Takes the lock of `home` and creates the folder (mode 0700) if missing. The lock ends with the
 * process.
 *
 * @throws Failure (exit 7) naming the holder when another process has the lock
 */
export function acquireHomeLock(home: string): HomeLock {
  makeHome(home);
  const lockPath = join(home, 'lock');
  const holderPath = join(home, 'running.json');
  const lock = openLock(home, lockPath);
  if (lock === null) throw new Failure('retryable', heldMessage(home, readHolder(holderPath)));
  const publish = (holder: Holder): void => writeStateFile(holderPath, JSON.stringify(holder));
  publish({ pid: process.pid, address: null });
  return {
    publishAddress: (address) => publish({ pid: process.pid, address }),
    [Symbol.dispose]: () => {
      rmSync(holderPath, { force: true });
      lock[Symbol.dispose]();
    },
  };
}

function openLock(home: string, path: string): Disposable | null {
  try {
    return lockFile(path);
  } catch (error) {
    if (isNotLockFile(error)) throw foreignLock(path, error);
    const reason = `${path} cannot be opened (${(error as Error).message})`;
    throw unusableHome(home, new Error(reason, { cause: error }));
  }
}

function foreignLock(path: string, cause: unknown): Failure {
  return new Failure(
    'invalidInput',
    `${path} is not a lock file of gatewright: remove it when no process uses this home, or pass another --home`,
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
