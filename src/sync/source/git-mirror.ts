/** Knows the local copy of a repository's objects: how it is filled, listed and read, without a checkout. */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../../failure.ts';
import { refuseExcess, tooLarge } from './folder.ts';
import { type GitOptions, type GitRun, runGit } from './git-command.ts';
import type { GitRemote, Resolved } from './git-remote.ts';
import {
  byCodeUnits,
  fileBytesMax,
  filesMax,
  type SourceFault,
  type SourceFile,
  totalBytesMax,
} from './source-files.ts';

/** One entry of a commit's tree. */
export interface Entry {
  readonly mode: string;
  readonly type: string;
  readonly id: string;
  readonly path: string;
}

const setUpBytesMax = 1024 * 1024;
const batchHeaderBytesMax = 100;
const readBytesMax = totalBytesMax + filesMax * batchHeaderBytesMax;
const mirroredRef = 'refs/gatewright/source';

export class GitMirror {
  readonly #remote: GitRemote;
  readonly #options: GitOptions;
  /** Bare repository that is fetched into, without files beyond the size limit. */
  readonly #directory: string;
  /**
   * Empty bare repository through which the mirror's objects are read. It knows no remote, so git
   * reports what was left out as missing instead of fetching it after all.
   */
  readonly #reader: string;

  /** @param name of the folder below the cache directory; one for each URL and ref */
  constructor(remote: GitRemote, name: string, options: GitOptions) {
    this.#remote = remote;
    this.#options = options;
    this.#directory = join(options.cacheDirectory, `${name}.git`);
    this.#reader = join(options.cacheDirectory, 'reader.git');
  }

  /**
   * Makes sure that a commit is here.
   *
   * @throws Failure (retryable) when the ref has moved on meanwhile
   */
  async fetch({ name, commit }: Resolved): Promise<void> {
    await this.#create(this.#directory);
    await this.#create(this.#reader);
    if (await this.#has(commit)) return;
    const words = [
      ...['fetch', '--quiet', '--depth=1', '--no-tags', '--no-recurse-submodules', '--force'],
      ...[`--filter=blob:limit=${fileBytesMax + 1}`, '--no-write-fetch-head', '--'],
      ...[this.#remote.url, `+${name}:${mirroredRef}`],
    ];
    await this.#remote.ask(words, this.#directory);
    if (await this.#has(commit)) return;
    const message = `${this.#remote.url} changed while it was read; try again`;
    throw new Failure('retryable', message);
  }

  /** Everything below a folder of a commit; undefined when there is no such folder. */
  async list(commit: string, path: string): Promise<Entry[] | undefined> {
    const tree = `${commit}:${path}`;
    const { status, stdout } = await this.#local(['ls-tree', '-r', '-z', '--full-tree', tree]);
    return status === 0 ? parseTree(stdout) : undefined;
  }

  /** Reads the files whose size allows it, sizes first, so that a huge one is never loaded. */
  async read(entries: readonly Entry[], faults: SourceFault[]): Promise<SourceFile[]> {
    const input = entries.map(({ id }) => `${id}\n`).join('');
    const sizes = await this.#batch(['cat-file', '--batch-check'], input);
    const lines = sizes.toString('utf8').split('\n');
    let bytes = 0;
    const fitting = entries.filter((entry, at) => {
      const size = Number(/ blob (\d+)$/.exec(lines[at] ?? '')?.[1] ?? Number.POSITIVE_INFINITY);
      if (size > fileBytesMax) faults.push(tooLarge(entry.path));
      else bytes += size;
      return size <= fileBytesMax;
    });
    refuseExcess(fitting.length, bytes);
    if (fitting.length === 0) return [];
    const ids = fitting.map(({ id }) => `${id}\n`).join('');
    return parseBatch(fitting, await this.#batch(['cat-file', '--batch'], ids)).sort((one, two) =>
      byCodeUnits(one.path, two.path),
    );
  }

  async #create(repository: string): Promise<void> {
    if (existsSync(repository)) return;
    mkdirSync(this.#options.cacheDirectory, { recursive: true, mode: 0o700 });
    const words = ['init', '--quiet', '--bare', '--', repository];
    const command = { arguments: words, speaks: 'none' as const, outputBytesMax: setUpBytesMax };
    const run = await runGit(command, this.#options);
    if (run.status !== 0) throw this.#broken(run);
  }

  async #has(commit: string): Promise<boolean> {
    const { status } = await this.#local(['rev-parse', '--quiet', '--verify', `${commit}^{tree}`]);
    return status === 0;
  }

  async #batch(words: readonly string[], input: string): Promise<Buffer> {
    const run = await this.#local(words, input);
    if (run.status !== 0) throw this.#broken(run);
    return run.stdout;
  }

  #local(words: readonly string[], input = ''): Promise<GitRun> {
    const command = { arguments: words, repository: this.#reader, input, speaks: 'none' as const };
    const objects = join(this.#directory, 'objects');
    return runGit({ ...command, objects, outputBytesMax: readBytesMax }, this.#options);
  }

  #broken({ message }: GitRun): Failure {
    const text = `git failed on the mirror of ${this.#remote.url}: ${message}`;
    return new Failure('unexpected', text);
  }
}

/** `<mode> <type> <id>\t<path>\0` */
function parseTree(listing: Buffer): Entry[] {
  return listing
    .toString('utf8')
    .split('\0')
    .flatMap((record) => {
      const parts = /^(\d{6}) (\w+) ([0-9a-f]{40,64})\t(.+)$/s.exec(record);
      if (parts === null) return [];
      const [, mode = '', type = '', id = '', path = ''] = parts;
      return [{ mode, type, id, path }];
    });
}

/** `<id> blob <size>\n<content>\n` for each entry, in their order. */
function parseBatch(entries: readonly Entry[], output: Buffer): SourceFile[] {
  let offset = 0;
  return entries.map(({ id, path }) => {
    const end = output.indexOf(0x0a, offset);
    const header = output.toString('latin1', offset, Math.max(end, offset));
    const size = Number(/ blob (\d+)$/.exec(header)?.[1]);
    if (!header.startsWith(id) || !Number.isSafeInteger(size) || end + 1 + size > output.length) {
      throw new Failure('unexpected', `git did not deliver ${path}`);
    }
    const content = output.subarray(end + 1, end + 1 + size);
    offset = end + 2 + size;
    return { path, content };
  });
}
