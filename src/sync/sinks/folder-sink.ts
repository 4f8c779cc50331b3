/**
 * Stores key values as files: written completely, published without overwriting, never through
 * links.
 */
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { chmod, link, mkdir, readdir, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { Failure } from '../../failure.ts';
import { Secret } from '../../secret.ts';
import { type DesiredResource, identityKey } from '../resources/resource-set.ts';
import { FileFlushes } from './file-flushes.ts';
import { findLeaving, type LeavingFile, markLeaving } from './leaving-files.ts';
import { SharedWork } from './shared-work.ts';
import { findValues, holdsValue, removeFile } from './value-files.ts';
import type { LeavingValue, PendingValue, SinkValue, ValueSet, ValueSink } from './value-sink.ts';

const privateFileMode = 0o600;
const privateFolderMode = 0o700;
const fileBytesMax = 4_096;
const pendingEnding = '.pending';

/** A secrets folder, as one owner of one organisation sees it. */
export class FolderSink implements ValueSink {
  readonly #folder: string;
  readonly #tag: string;
  /** Shared by concurrent operations in one folder. */
  readonly #lists: SharedWork<FolderList>;
  readonly #makings: SharedWork<string | null>;
  readonly #flushes = new FileFlushes();

  /** @param tag of the owner; separates its pending values and marks from those of others */
  constructor(folder: string, tag: string) {
    this.#folder = resolve(folder);
    this.#tag = tag;
    this.#lists = new SharedWork(async (at) => listOf(await namesIn(at), tag));
    this.#makings = new SharedWork((at) => makeFolder(this.#folder, at));
  }

  placeOf(desired: DesiredResource): string {
    const { path: wanted } = fileOf(desired);
    const path = resolve(this.#folder, wanted);
    if (isAbsolute(wanted) || !path.startsWith(this.#folder + sep)) {
      throw misplaced(desired, `secretOutput path "${wanted}" is outside of ${this.#folder}`);
    }
    return path;
  }

  read(keys: readonly DesiredResource[]): Promise<(ValueSet | Failure)[]> {
    return Promise.all(
      keys.map((desired) =>
        this.#read(desired).catch((error: unknown) =>
          readable(error, desired, `read ${fileOf(desired).path}`),
        ),
      ),
    );
  }

  async #read(desired: DesiredResource): Promise<ValueSet> {
    const place = this.placeOf(desired);
    const folder = dirname(place);
    const { names, pendingOf } = await this.#lists.run(folder);
    const delivered = names.has(basename(place)) ? readValue(place, desired) : null;
    const pending: PendingValue[] = [];
    for (const { name, fence } of pendingOf.get(basename(place)) ?? []) {
      const at = join(folder, name);
      const value = readValue(at, desired);
      if (value !== null) pending.push({ sink: this, place: at, fence, value });
    }
    return { place, delivered, pending: pending.sort((one, two) => two.fence - one.fence) };
  }

  async list(): Promise<SinkValue[]> {
    const found = await findValues(this.#folder);
    return found.map(({ path, value }) => ({ sink: this, place: path, value }));
  }

  /** On disk with its name when this resolves. */
  async writePending(
    desired: DesiredResource,
    fence: number,
    value: string,
  ): Promise<PendingValue> {
    const path = this.placeOf(desired);
    const place = `${path}.${this.#tag}-${fence}${pendingEnding}`;
    try {
      await this.#make(dirname(path), desired);
      const file = writeNew(place, `${value}\n`);
      await this.#flushes.flush(file, dirname(path)).catch(async (error: unknown) => {
        // A later run must not consider it safe.
        await removeFile(place);
        throw error;
      });
      return { sink: this, place, fence, value: new Secret(value, `file:${place}`) };
    } catch (error) {
      throw readable(error, desired, writing(desired, place));
    }
  }

  /** Replaces the file without a moment in which it is missing. */
  async publish(desired: DesiredResource, from: SinkValue, over: Secret | null): Promise<void> {
    const path = this.placeOf(desired);
    try {
      await this.#make(dirname(path), desired);
      const { mode } = fileOf(desired);
      if (mode !== privateFileMode || !isPending(from)) await chmod(from.place, mode);
      if (over === null) placeNew(from.place, path);
      else renameSync(from.place, path);
      await this.#flushes.flushFolder(dirname(path));
    } catch (error) {
      throw readable(error, desired, writing(desired, path));
    }
  }

  async keepAside(desired: DesiredResource, fence: number): Promise<string> {
    const path = this.placeOf(desired);
    const aside = `${path}.kept-${fence}`;
    try {
      await link(path, aside).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      });
      await this.#flushes.flushFolder(dirname(path));
      return aside;
    } catch (error) {
      throw readable(error, desired, writing(desired, aside));
    }
  }

  holds({ place, value }: SinkValue): Promise<boolean> {
    return holdsValue({ path: place, value });
  }

  async discard(stored: SinkValue): Promise<void> {
    if (await this.holds(stored)) await removeFile(stored.place);
  }

  async markLeaving({ place, value }: SinkValue, fence: number): Promise<LeavingValue> {
    const marked = await markLeaving({ path: place, value }, this.#tag, fence);
    return this.#leaving(marked);
  }

  async listLeaving(): Promise<LeavingValue[]> {
    return (await findLeaving(this.#folder, this.#tag)).map((marked) => this.#leaving(marked));
  }

  async removeLeft({ of, place, value }: LeavingValue): Promise<void> {
    await this.discard({ sink: this, place: of, value });
    await removeFile(place);
  }

  unmark({ place }: LeavingValue): Promise<void> {
    return removeFile(place);
  }

  #leaving({ path, value, of, fence }: LeavingFile): LeavingValue {
    return { sink: this, place: path, value, of, fence };
  }

  async #make(folder: string, desired: DesiredResource): Promise<void> {
    const fault = await this.#makings.run(folder);
    if (fault !== null) throw misplaced(desired, fault);
  }
}

/** The content of a folder. */
interface FolderList {
  readonly names: ReadonlySet<string>;
  /** Pending files by the name of their target. */
  readonly pendingOf: ReadonlyMap<string, readonly { name: string; fence: number }[]>;
}

function listOf(names: readonly string[], tag: string): FolderList {
  const pendingOf = new Map<string, { name: string; fence: number }[]>();
  for (const name of names) {
    const found = /^(.+)\.([^.]+)-(\d{1,15})\.pending$/s.exec(name);
    if (found === null || found[2] !== tag) continue;
    const one = { name, fence: Number(found[3]) };
    const others = pendingOf.get(found[1]!);
    if (others === undefined) pendingOf.set(found[1]!, [one]);
    else others.push(one);
  }
  return { names: new Set(names), pendingOf };
}

function fileOf({ secretOutput }: DesiredResource): {
  readonly path: string;
  readonly mode: number;
} {
  if (secretOutput?.sink !== 'file')
    throw new Error('the value of this key is not delivered to a file');
  return secretOutput;
}

/**
 * Creates the folders of the path one by one. Returns an error when a symbolic link among them
 * leads outside of `top`, else null.
 */
async function makeFolder(top: string, folder: string): Promise<string | null> {
  await mkdir(top, { recursive: true, mode: privateFolderMode });
  const root = await realpath(top);
  let at = root;
  for (const part of folder.slice(top.length).split(sep).filter(Boolean)) {
    at = join(at, part);
    await mkdir(at, { mode: privateFolderMode }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    at = await realpath(at);
    if (!at.startsWith(root + sep)) return `a symbolic link leads from ${folder} out of ${root}`;
  }
  return null;
}

/**
 * Fails if the path exists. Returns the open file, not yet flushed. Synchronous: for a thousand
 * files, a promise for each step takes as long as the steps.
 */
function writeNew(path: string, text: string): number {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
  const file = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, privateFileMode);
  try {
    const bytes = Buffer.from(text);
    if (writeSync(file, bytes) < bytes.length)
      throw Object.assign(new Error('full'), { code: 'ENOSPC' });
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** Fails if `to` exists; a rename would silently replace it. */
function placeNew(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Some file systems have no hard links; there a check and a rename must do.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(code ?? '')) throw error;
    if (isThere(to)) throw Object.assign(new Error('exists'), { code: 'EEXIST' });
    renameSync(from, to);
    return;
  }
  unlinkSync(from);
}

/** Created with {@link privateFileMode}. */
function isPending(from: SinkValue): boolean {
  return from.place.endsWith(pendingEnding);
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

/** Null when the file was removed meanwhile. */
function readValue(path: string, desired: DesiredResource): Secret | null {
  const text = textOf(path);
  if (text === 'other') {
    throw misplaced(desired, `${path} is not a plain file; symbolic links are not followed`);
  }
  return text === null ? null : new Secret(text.value.trim(), `file:${path}`);
}

/**
 * Returns the start of a plain file; null when nothing exists, and `other` for anything else, which
 * is not read. Synchronous: for a thousand small files promises take longer.
 */
function textOf(path: string): { readonly value: string } | 'other' | null {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
  let file: number;
  try {
    file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    // A symbolic link or a socket.
    if (code === 'ELOOP' || code === 'ENXIO') return 'other';
    throw error;
  }
  try {
    if (!fstatSync(file).isFile()) return 'other';
    const bytes = Buffer.alloc(fileBytesMax);
    return { value: bytes.toString('utf8', 0, readSync(file, bytes)) };
  } finally {
    closeSync(file);
  }
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function readable(error: unknown, desired: DesiredResource, what: string): Failure {
  if (error instanceof Failure) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const reason = code === 'EEXIST' ? 'a file was created there meanwhile' : (code ?? message);
  const text = `${placeOf(desired)}: cannot ${what} (${reason})`;
  return new Failure('invalidInput', text, { cause: error });
}

function writing(desired: DesiredResource, path: string): string {
  return `write the value of ${identityKey(desired.identity)} to ${path}`;
}

function misplaced(desired: DesiredResource, reason: string): Failure {
  return new Failure('invalidInput', `${placeOf(desired)}: ${reason}`);
}

function placeOf({ position }: DesiredResource): string {
  return `${position.file}:${position.line}:${position.column}`;
}
