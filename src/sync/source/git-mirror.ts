/**
 * Manages the local copy of a repository's objects: fetching, listing and reading, without a
 * checkout.
 */
import { Failure } from '../../failure.ts';
import { refuseExcess, tooLarge } from './folder.ts';
import { BareRepository } from './git-bare-repository.ts';
import type { GitOptions, GitRun } from './git-command.ts';
import { assertCommit, type GitRemote, type ResolvedRef } from './git-remote.ts';
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

const batchHeaderBytesMax = 100;
const readBytesMax = totalBytesMax + filesMax * batchHeaderBytesMax;
const mirroredRef = 'refs/gatewright/source';

export class GitMirror {
  readonly #remote: GitRemote;
  /** Fetched without files beyond the size limit. */
  readonly #repository: BareRepository;

  /** @param name of the folder in the cache directory; one for each URL and ref */
  constructor(remote: GitRemote, name: string, options: GitOptions) {
    this.#remote = remote;
    this.#repository = new BareRepository(`${name}.git`, options);
  }

  /**
   * Ensures that a commit is present.
   *
   * @throws Failure (retryable) when the ref has moved meanwhile
   */
  async fetch({ name, commit }: ResolvedRef): Promise<void> {
    await this.#repository.create();
    if (await this.#has(name, commit)) return;
    const words = [
      'fetch',
      '--quiet',
      '--depth=1',
      '--no-tags',
      '--no-recurse-submodules',
      '--force',
      `--filter=blob:limit=${fileBytesMax + 1}`,
      '--no-write-fetch-head',
      '--',
      this.#remote.url,
      `+${name}:${mirroredRef}`,
    ];
    await this.#remote.ask(words, this.#repository.directory);
    if (await this.#has(name, commit)) return;
    const message = `${this.#remote.url} changed while it was read; try again`;
    throw new Failure('retryable', message);
  }

  /** Lists everything below a folder of a commit; undefined when the folder does not exist. */
  async list(commit: string, path: string): Promise<Entry[] | undefined> {
    const tree = `${commit}:${path}`;
    const { status, stdout } = await this.#local(['ls-tree', '-r', '-z', '--full-tree', tree]);
    return status === 0 ? parseTree(stdout) : undefined;
  }

  /** Returns those links in a folder of a commit that lead to a file of the same commit. */
  async linksToFiles(
    commit: string,
    folder: string,
    links: readonly Entry[],
  ): Promise<ReadonlySet<Entry>> {
    if (links.length === 0) return new Set();
    const start = folder === '' ? '' : `${folder}/`;
    const input = links.map(({ path }) => `${commit}:${start}${path}\n`).join('');
    const words = ['cat-file', '--batch-check=%(objecttype)', '--follow-symlinks'];
    const types = parseFollowed(await this.#batch(words, input));
    return new Set(links.filter((_, at) => types[at] === 'blob'));
  }

  /** Reads the files within the size limit, sizes first, so that a huge one is never loaded. */
  async read(entries: readonly Entry[], faults: SourceFault[]): Promise<SourceFile[]> {
    if (entries.length === 0) return [];
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

  async #has(name: string, commit: string): Promise<boolean> {
    const [type, tree] = await this.#repository.typesOf([commit, `${commit}^{tree}`]);
    assertCommit(this.#remote.url, name, type);
    return type === 'commit' && tree === 'tree';
  }

  async #batch(words: readonly string[], input: string): Promise<Buffer> {
    const run = await this.#local(words, input);
    if (run.status !== 0) throw this.#broken(run);
    return run.stdout;
  }

  #local(words: readonly string[], input = ''): Promise<GitRun> {
    return this.#repository.run({ arguments: words, input, outputBytesMax: readBytesMax });
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

/** `<id> blob <size>\n<content>\n` for each entry, in order. */
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

/** `<type>\n` for each, or, for a dangling link, `<reason> <size>\n<text>\n`. */
function parseFollowed(output: Buffer): string[] {
  const found: string[] = [];
  for (let offset = 0; offset < output.length; ) {
    const end = output.indexOf(0x0a, offset);
    const line = output.toString('latin1', offset, end < 0 ? output.length : end);
    const [, size = null] = /^(?:dangling|loop|notdir|symlink) (\d+)$/.exec(line) ?? [];
    found.push(line);
    offset = (end < 0 ? output.length : end) + 1 + (size === null ? 0 : Number(size) + 1);
  }
  return found;
}
