/** Knows how manifests are read from a Git repository: its objects, never a checkout. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../../failure.ts';
import { nearest } from '../../suggest.ts';
import { refuseExcess, tooLarge } from './folder.ts';
import { type GitAccess, type GitOptions, type GitRun, runGit } from './git-command.ts';
import { describeGit, type GitLocation, parseGitLocation } from './git-location.ts';
import {
  byCodeUnits,
  caseTwinFaults,
  fileBytesMax,
  fileFault,
  filesMax,
  infoOf,
  isIgnoredName,
  isManifestName,
  type Source,
  type SourceFault,
  type SourceFile,
  type SourceFiles,
  totalBytesMax,
} from './source-files.ts';

export interface GitSourceOptions {
  /** Folder for bare mirrors; made when missing. */
  readonly cacheDirectory: string;
  readonly access: GitAccess;
  readonly signal?: AbortSignal | undefined;
  /** Longest time for one command of git. */
  readonly timeoutMs?: number | undefined;
}

const timeoutMsDefault = 60_000;
const listingBytesMax = 32 * 1024 * 1024;
const batchHeaderBytesMax = 100;
const readBytesMax = totalBytesMax + filesMax * batchHeaderBytesMax;
const mirroredRef = 'refs/gatewright/source';

/**
 * A repository at `URL#ref:path`. One commit is pinned for the whole of a read; only plain files are
 * taken, and a symbolic link or submodule among them is a fault, because what it stands for would
 * silently be missing.
 *
 * @throws Failure 5 when the location is not one that may be used
 */
export function openGit(location: string, options: GitSourceOptions): Source {
  const repository = new Repository(parseGitLocation(location), options);
  return {
    describe: repository.describe,
    newest: async () => ({ digest: null, revision: (await repository.resolve()).commit }),
    read: () => repository.read(),
  };
}

interface Resolved {
  /** What to ask the server for. */
  readonly name: string;
  readonly commit: string;
}

interface Entry {
  readonly mode: string;
  readonly type: string;
  readonly id: string;
  readonly path: string;
}

class Repository {
  readonly describe: string;
  readonly #location: GitLocation;
  readonly #options: GitOptions;
  /** Bare repository that is fetched into, without files beyond the size limit. */
  readonly #mirror: string;
  /**
   * Empty bare repository through which the mirror's objects are read. It knows no remote, so git
   * reports what was left out as missing instead of fetching it after all.
   */
  readonly #reader: string;

  constructor(location: GitLocation, options: GitSourceOptions) {
    const { cacheDirectory, access, signal, timeoutMs = timeoutMsDefault } = options;
    this.#location = location;
    this.#options = { cacheDirectory, access, signal, timeoutMs };
    const name = createHash('sha256')
      .update(`${location.url}#${location.ref ?? ''}`)
      .digest('hex');
    this.#mirror = join(cacheDirectory, `${name.slice(0, 32)}.git`);
    this.#reader = join(cacheDirectory, 'reader.git');
    this.describe = describeGit(location);
  }

  /** Asks the server which commit the ref stands for now. */
  async resolve(): Promise<Resolved> {
    const { ref } = this.#location;
    if (ref !== null && /^[0-9a-f]{40}$/.test(ref)) return { name: ref, commit: ref };
    const names =
      ref === null
        ? ['HEAD']
        : [`refs/heads/${ref}`, `refs/tags/${ref}^{}`, `refs/tags/${ref}`, ref];
    const found = await this.#listRemote(names);
    const name = names.find((candidate) => found.has(candidate));
    const commit = name === undefined ? undefined : found.get(name);
    if (name === undefined || commit === undefined) throw await this.#noSuchRef();
    return { name: name.replace(/\^\{\}$/, ''), commit };
  }

  async read(): Promise<SourceFiles> {
    const resolved = await this.resolve();
    await this.#fetch(resolved);
    const entries = await this.#listFiles(resolved.commit);
    const faults: SourceFault[] = [];
    const wanted = entries.filter((entry) => isWanted(entry, faults));
    refuseExcess(wanted.length, 0);
    const files = await this.#readBlobs(wanted, faults);
    faults.push(...caseTwinFaults(files.map(({ path }) => path)));
    const info = infoOf(this.describe, resolved.commit, files);
    return { files, faults, info, prefix: '' };
  }

  async #listRemote(names: readonly string[]): Promise<Map<string, string>> {
    const { stdout } = await this.#ask([
      'ls-remote',
      '--quiet',
      '--',
      this.#location.url,
      ...names,
    ]);
    const lines = stdout.toString('utf8').split('\n');
    return new Map(
      lines.flatMap((line) => {
        const [commit, name] = line.split('\t');
        return commit === undefined || name === undefined ? [] : [[name, commit] as const];
      }),
    );
  }

  async #noSuchRef(): Promise<Failure> {
    const { ref, url } = this.#location;
    if (ref === null) {
      const message = `${url} has no default branch; is it empty? Name a branch: URL#branch`;
      return new Failure('invalidInput', message);
    }
    const heads = await this.#listRemote(['refs/heads/*', 'refs/tags/*']);
    const names = [...heads.keys()].map((name) => name.replace(/^refs\/(?:heads|tags)\//, ''));
    const near = nearest(ref, names);
    const hint = near === undefined ? '' : `; did you mean "${near}"?`;
    return new Failure('invalidInput', `${url} has no branch or tag "${ref}"${hint}`);
  }

  async #fetch({ name, commit }: Resolved): Promise<void> {
    await this.#create(this.#mirror);
    await this.#create(this.#reader);
    if (await this.#has(commit)) return;
    await this.#ask([
      ...['fetch', '--quiet', '--depth=1', '--no-tags', '--no-recurse-submodules', '--force'],
      ...[`--filter=blob:limit=${fileBytesMax + 1}`, '--no-write-fetch-head', '--'],
      ...[this.#location.url, `+${name}:${mirroredRef}`],
    ]);
    if (await this.#has(commit)) return;
    const message = `${this.#location.url} changed while it was read; try again`;
    throw new Failure('retryable', message);
  }

  async #create(repository: string): Promise<void> {
    if (existsSync(repository)) return;
    mkdirSync(this.#options.cacheDirectory, { recursive: true, mode: 0o700 });
    const words = ['init', '--quiet', '--bare', '--', repository];
    const command = { arguments: words, network: false, outputBytesMax: listingBytesMax };
    const run = await runGit(command, this.#options);
    if (run.status !== 0) throw this.#broken(run);
  }

  async #has(commit: string): Promise<boolean> {
    const { status } = await this.#local(['rev-parse', '--quiet', '--verify', `${commit}^{tree}`]);
    return status === 0;
  }

  async #listFiles(commit: string): Promise<Entry[]> {
    const { path } = this.#location;
    const tree = `${commit}:${path}`;
    const { status, stdout } = await this.#local(['ls-tree', '-r', '-z', '--full-tree', tree]);
    if (status === 0) return parseTree(stdout);
    const message = `${this.describe} has no folder "${path}" in commit ${commit.slice(0, 12)}`;
    throw new Failure('invalidInput', message);
  }

  /** Reads the files whose size allows it, sizes first, so that a huge one is never loaded. */
  async #readBlobs(entries: readonly Entry[], faults: SourceFault[]): Promise<SourceFile[]> {
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

  async #batch(words: readonly string[], input: string): Promise<Buffer> {
    const run = await this.#local(words, input);
    if (run.status !== 0) throw this.#broken(run);
    return run.stdout;
  }

  /** A question to the server. */
  async #ask(words: readonly string[]): Promise<GitRun> {
    const repository = existsSync(this.#mirror) ? { repository: this.#mirror } : {};
    const command = { arguments: words, network: true, outputBytesMax: listingBytesMax };
    const run = await runGit({ ...command, ...repository }, this.#options);
    if (run.status === 0) return run;
    throw new Failure(
      'unreachable',
      [`Cannot read ${this.#location.url}:`, run.message, adviceOn(run.message)]
        .join('\n')
        .trimEnd(),
    );
  }

  #local(words: readonly string[], input = ''): Promise<GitRun> {
    const command = { arguments: words, repository: this.#reader, input, network: false };
    const objects = join(this.#mirror, 'objects');
    return runGit({ ...command, objects, outputBytesMax: readBytesMax }, this.#options);
  }

  #broken({ message }: GitRun): Failure {
    const text = `git failed on the mirror of ${this.#location.url}: ${message}`;
    return new Failure('unexpected', text);
  }
}

const advice: readonly (readonly [RegExp, string])[] = [
  [/host key verification failed/i, 'Add the host to known_hosts after checking its fingerprint.'],
  [
    /permission denied|authentication failed|could not read (?:username|password)|403/i,
    'The token or key was not accepted, or none was given.',
  ],
  [/redirect|301|302|307|308/i, 'The server redirects; give the address it redirects to.'],
  [/certificate|ssl/i, 'The certificate is not trusted; give the file of its authority.'],
  [/could not resolve host/i, 'The host name is not known here.'],
];

function adviceOn(message: string): string {
  return advice.find(([words]) => words.test(message))?.[1] ?? '';
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

function isWanted(entry: Entry, faults: SourceFault[]): boolean {
  const { mode, path } = entry;
  const parts = path.split('/');
  if (parts.some(isIgnoredName)) {
    return false;
  }
  const refuse = (code: string, message: string, fix: string): false => {
    faults.push(fileFault(path.replaceAll(/[^\x20-\x7e]/g, '?'), code, message, fix));
    return false;
  };
  if (mode === '160000') {
    const fix = 'put the manifests into this repository';
    return refuse('submodule', 'submodules are not read', fix);
  }
  if (mode === '120000') {
    const fix = 'replace the link by the file or folder itself';
    return refuse('symbolic-link', 'symbolic links are not followed in Git', fix);
  }
  if (!isManifestName(path)) return false;
  if (mode !== '100644' && mode !== '100755') {
    return refuse('file-mode', `the mode ${mode} is not that of a plain file`, 'commit it again');
  }
  if (/[\\\u0000-\u001f\u007f]/.test(path) || path.includes('\uFFFD')) {
    return refuse('file-name', 'the name holds characters that are not allowed', 'rename the file');
  }
  return true;
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
