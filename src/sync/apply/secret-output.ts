/** Knows how the value of an API key reaches its file without ever being lost: written before the key exists. */
import { constants } from 'node:fs';
import { chmod, lstat, mkdir, open, readFile, realpath, rename } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { Failure } from '../../failure.ts';
import { isWellFormedApiKey, makeApiKey } from '../../model/credentials.ts';
import { Secret } from '../../secret.ts';
import { type DesiredResource, identityKey } from '../spec/resource-set.ts';

const pendingSuffix = '.pending';
const privateFileMode = 0o600;
const privateFolderMode = 0o700;

export type OutputState =
  /** The file is there. */
  | 'delivered'
  /** The value waits in its `.pending` file: the key may exist already, or not yet. */
  | 'pending'
  /** Neither is there. */
  | 'missing';

/**
 * Files of one secrets folder. The order is always: value to `<path>.pending` and to disk, create the
 * key with it, rename to `<path>`. So a crash anywhere leaves the value in one of the two files, and
 * the next run goes on with the same value.
 */
export class SecretOutput {
  readonly #folder: string;
  readonly #keyPrefix: string;

  /** New values begin with `keyPrefix`, as those do that the server makes. */
  constructor(folder: string, keyPrefix: string) {
    this.#folder = resolve(folder);
    this.#keyPrefix = keyPrefix;
  }

  /** Reads only; for plans. */
  async state(desired: DesiredResource): Promise<OutputState> {
    const path = this.#pathOf(desired);
    if ((await fileKind(path, desired)) === 'file') return 'delivered';
    return (await fileKind(path + pendingSuffix, desired)) === 'file' ? 'pending' : 'missing';
  }

  /**
   * The value to create the key with, safe on disk once this returns: the one an interrupted run has
   * left, else a new one.
   *
   * @throws Failure when the file lies outside the folder or cannot be written
   */
  async prepare(desired: DesiredResource): Promise<Secret> {
    const path = this.#pathOf(desired);
    const pending = path + pendingSuffix;
    try {
      await this.#makeFolder(dirname(path), desired);
      const left = await readPending(pending, desired);
      if (left !== null) return new Secret(left, `file:${pending}`);
      const value = makeApiKey(this.#keyPrefix);
      await writeDurably(pending, value);
      return new Secret(value, `file:${pending}`);
    } catch (error) {
      throw readable(error, desired, pending);
    }
  }

  /** Puts the pending value in its place; for once the key exists on the server. */
  async deliver(desired: DesiredResource): Promise<void> {
    const path = this.#pathOf(desired);
    try {
      await chmod(path + pendingSuffix, desired.secretOutput!.mode);
      await rename(path + pendingSuffix, path);
      await syncFolder(dirname(path));
    } catch (error) {
      throw readable(error, desired, path);
    }
  }

  /** What to tell the user about a key that exists while its value is nowhere. */
  missingMessage(desired: DesiredResource): string {
    const path = this.#pathOf(desired);
    return `SecretMissing: ${identityKey(desired.identity)} exists on the server but ${path} does \
not, and the value cannot be read again. Bring the file back, or make a new key: set \
metadata.name to a new name, apply, and hand out the new value.`;
  }

  #pathOf(desired: DesiredResource): string {
    const wanted = desired.secretOutput!.path;
    const path = resolve(this.#folder, wanted);
    if (isAbsolute(wanted) || !path.startsWith(this.#folder + sep)) {
      throw misplaced(desired, `secretOutput path "${wanted}" leads out of ${this.#folder}`);
    }
    return path;
  }

  /** Makes the folders on the way one by one; a symbolic link among them must not lead outside. */
  async #makeFolder(folder: string, desired: DesiredResource): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: privateFolderMode });
    const root = await realpath(this.#folder);
    let at = root;
    for (const part of folder.slice(this.#folder.length).split(sep).filter(Boolean)) {
      at = join(at, part);
      await mkdir(at, { mode: privateFolderMode }).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      });
      at = await realpath(at);
      if (!at.startsWith(root + sep)) {
        throw misplaced(desired, `a symbolic link leads from ${folder} out of ${root}`);
      }
    }
  }
}

async function readPending(path: string, desired: DesiredResource): Promise<string | null> {
  if ((await fileKind(path, desired)) === 'none') return null;
  const value = (await readFile(path, 'utf8')).trim();
  // What a crash tore apart was never sent.
  return isWellFormedApiKey(value) ? value : null;
}

async function fileKind(path: string, desired: DesiredResource): Promise<'file' | 'none'> {
  try {
    if ((await lstat(path)).isFile()) return 'file';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'none';
    throw readable(error, desired, path);
  }
  throw misplaced(desired, `${path} is not a plain file; symbolic links are not followed`);
}

/** On disk, name and all, once it returns. */
async function writeDurably(path: string, value: string): Promise<void> {
  const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants;
  const file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, privateFileMode);
  try {
    await file.chmod(privateFileMode);
    await file.writeFile(`${value}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await syncFolder(dirname(path));
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function readable(error: unknown, desired: DesiredResource, path: string): Failure {
  if (error instanceof Failure) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const text = `${placeOf(desired)}: cannot write the value of ${identityKey(desired.identity)} \
to ${path} (${code ?? message})`;
  return new Failure('invalidInput', text, { cause: error });
}

function misplaced(desired: DesiredResource, reason: string): Failure {
  return new Failure('invalidInput', `${placeOf(desired)}: ${reason}`);
}

function placeOf({ position }: DesiredResource): string {
  return `${position.file}:${position.line}:${position.column}`;
}
