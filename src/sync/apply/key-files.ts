/** Knows the files of a secrets folder: written whole and once, published without overwriting, never through links. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import {
  chmod,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  unlink,
} from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { Failure } from '../../failure.ts';
import { Secret } from '../../secret.ts';
import { type DesiredResource, identityKey } from '../spec/resource-set.ts';
import { findLeaving, type LeavingFile, markLeaving } from './leaving-files.ts';
import { findValues, type ValueFile } from './value-files.ts';

const privateFileMode = 0o600;
const privateFolderMode = 0o700;
const fileBytesMax = 4_096;

/** A value that waits for its key, or for its place. */
export interface PendingFile extends ValueFile {
  /** Of the lease of the run that wrote it: a run with a greater one has shut it out. */
  readonly fence: number;
}

/** What lies at the path of one key. */
export interface KeyFileSet {
  readonly path: string;
  /** Null where there is no file. */
  readonly delivered: Secret | null;
  /** Those of this owner, the newest first. */
  readonly pending: readonly PendingFile[];
}

/** One secrets folder as one owner of one organisation sees it; the pending files of others are not its own. */
export class KeyFiles {
  readonly #folder: string;
  readonly #tag: string;

  constructor(folder: string, organisationId: string, owner: string) {
    this.#folder = resolve(folder);
    const name = `${organisationId}\n${owner}`;
    this.#tag = createHash('sha256').update(name).digest('hex').slice(0, 12);
  }

  /** Absolute, and inside of the folder. @throws Failure when it would lie outside */
  pathOf(desired: DesiredResource): string {
    const wanted = desired.secretOutput!.path;
    const path = resolve(this.#folder, wanted);
    if (isAbsolute(wanted) || !path.startsWith(this.#folder + sep)) {
      throw misplaced(desired, `secretOutput path "${wanted}" leads out of ${this.#folder}`);
    }
    return path;
  }

  /**
   * @param listed names by folder; hand the same one in for many keys, and each folder is listed once
   * @throws Failure when something other than a plain file lies there, or it cannot be read
   */
  async read(
    desired: DesiredResource,
    listed: Map<string, Promise<string[]>> = new Map(),
  ): Promise<KeyFileSet> {
    const path = this.pathOf(desired);
    const folder = dirname(path);
    try {
      if (!listed.has(folder)) listed.set(folder, namesIn(folder));
      const names = await listed.get(folder)!;
      const delivered = names.includes(basename(path)) ? await readValue(path, desired) : null;
      const pending: PendingFile[] = [];
      for (const name of names) {
        const fence = this.#fenceIn(name, basename(path));
        if (fence === null) continue;
        const at = join(folder, name);
        const value = await readValue(at, desired);
        if (value !== null) pending.push({ path: at, fence, value });
      }
      return { path, delivered, pending: pending.sort((one, two) => two.fence - one.fence) };
    } catch (error) {
      throw readable(error, desired, path);
    }
  }

  /** Marks files whose key is about to be deleted. */
  markLeaving(found: readonly ValueFile[], fence: number): Promise<LeavingFile[]> {
    return Promise.all(found.map((file) => markLeaving(file, this.#tag, fence)));
  }

  /** Files that were marked by runs which did not come to an end. */
  listLeaving(): Promise<LeavingFile[]> {
    return findLeaving(this.#folder, this.#tag);
  }

  /** Every file of the folder that may hold the value of a key. */
  list(): Promise<ValueFile[]> {
    return findValues(this.#folder);
  }

  /** On disk, name and all, once it returns. @throws Failure when this run has written one already */
  async writePending(desired: DesiredResource, fence: number, value: string): Promise<PendingFile> {
    const path = this.pathOf(desired);
    const pending = `${path}.${this.#tag}-${fence}.pending`;
    try {
      await this.#makeFolder(dirname(path), desired);
      await writeNew(pending, `${value}\n`);
      await syncFolder(dirname(path));
      return { path: pending, fence, value: new Secret(value, `file:${pending}`) };
    } catch (error) {
      throw readable(error, desired, pending);
    }
  }

  /** Puts a value that lies elsewhere, pending above all, in its place. @throws Failure when a file has come there meanwhile */
  async publish(desired: DesiredResource, { path: pending }: ValueFile): Promise<void> {
    const path = this.pathOf(desired);
    try {
      await this.#makeFolder(dirname(path), desired);
      await chmod(pending, desired.secretOutput!.mode);
      await placeNew(pending, path);
      await syncFolder(dirname(path));
    } catch (error) {
      throw readable(error, desired, path);
    }
  }

  /** As {@link publish}, in the place of what lies there, without a moment when nothing does. */
  async publishOver(desired: DesiredResource, { path: pending }: ValueFile): Promise<void> {
    const path = this.pathOf(desired);
    try {
      await chmod(pending, desired.secretOutput!.mode);
      await rename(pending, path);
      await syncFolder(dirname(path));
    } catch (error) {
      throw readable(error, desired, path);
    }
  }

  /** Gives what lies at the path of a key a second name, so that its value outlives the file's; yields it. */
  async keepAside(desired: DesiredResource, fence: number): Promise<string> {
    const path = this.pathOf(desired);
    const aside = `${path}.kept-${fence}`;
    try {
      await link(path, aside).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      });
      await syncFolder(dirname(path));
      return aside;
    } catch (error) {
      throw readable(error, desired, aside);
    }
  }

  /** Removes a pending file whose value is of no use; gone already is as good. */
  async discard({ path }: ValueFile): Promise<void> {
    await unlink(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }

  #fenceIn(name: string, base: string): number | null {
    const [start, end] = [`${base}.${this.#tag}-`, '.pending'];
    if (!name.startsWith(start) || !name.endsWith(end)) return null;
    const digits = name.slice(start.length, -end.length);
    return /^\d{1,15}$/.test(digits) ? Number(digits) : null;
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

/** Fails where something lies at the path. The content, not yet the name, is on disk once it returns. */
async function writeNew(path: string, text: string): Promise<void> {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
  const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, privateFileMode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Fails where something lies at `to`, which a rename would silently take away. */
async function placeNew(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Some file systems have no second names; there a look and a rename must do.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(code ?? '')) throw error;
    if ((await kindOf(to)) !== 'none') throw Object.assign(new Error('exists'), { code: 'EEXIST' });
    await rename(from, to);
    return;
  }
  await unlink(from);
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}

/** Null when it went away meanwhile. */
async function readValue(path: string, desired: DesiredResource): Promise<Secret | null> {
  const kind = await kindOf(path);
  if (kind === 'none') return null;
  if (kind === 'other') {
    throw misplaced(desired, `${path} is not a plain file; symbolic links are not followed`);
  }
  try {
    const text = await readFile(path, 'utf8');
    return new Secret(text.slice(0, fileBytesMax).trim(), `file:${path}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function kindOf(path: string): Promise<'file' | 'other' | 'none'> {
  try {
    return (await lstat(path)).isFile() ? 'file' : 'other';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'none';
    throw error;
  }
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
  const reason = code === 'EEXIST' ? 'a file has come there meanwhile' : (code ?? message);
  const text = `${placeOf(desired)}: cannot write the value of ${identityKey(desired.identity)} \
to ${path} (${reason})`;
  return new Failure('invalidInput', text, { cause: error });
}

function misplaced(desired: DesiredResource, reason: string): Failure {
  return new Failure('invalidInput', `${placeOf(desired)}: ${reason}`);
}

function placeOf({ position }: DesiredResource): string {
  return `${position.file}:${position.line}:${position.column}`;
}
