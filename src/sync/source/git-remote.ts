/** Queries the server of a repository: current commits of refs, and the meaning of its errors. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '../../failure.ts';
import { nearest } from '../../suggest.ts';
import { type GitOptions, type GitRun, runGit } from './git-command.ts';
import { hostKeyFailure, isHostKeyRefused } from './git-host-key.ts';
import { filePathOf, type GitLocation } from './git-location.ts';

export interface ResolvedRef {
  /** The name to ask the server for. */
  readonly name: string;
  readonly commit: string;
  /**
   * Id of the tag object, which may be signed; null for a branch, a commit or a lightweight tag.
   */
  readonly tag: string | null;
}

/**
 * How long a run waits for another one that fetches into the same repository, and its polling
 * interval.
 */
const turnMsMax = 10_000;
const turnPauseMs = 200;
const answerBytesMax = 32 * 1024 * 1024;

/** The repository at a location, as its server reports it. */
export class GitRemote {
  readonly #location: GitLocation;
  readonly #options: GitOptions;

  constructor(location: GitLocation, options: GitOptions) {
    this.#location = location;
    this.#options = options;
  }

  get url(): string {
    return this.#location.url;
  }

  /** Asks the server for the current commit of the ref. */
  async resolve(): Promise<ResolvedRef> {
    const { ref } = this.#location;
    if (ref !== null && /^[0-9a-f]{40}$/.test(ref)) return { name: ref, commit: ref, tag: null };
    const names =
      ref === null
        ? ['HEAD']
        : [`refs/heads/${ref}`, `refs/tags/${ref}^{}`, `refs/tags/${ref}`, ref];
    const found = await this.#listRemote(names);
    const name = names.find((candidate) => found.has(candidate));
    const commit = name === undefined ? undefined : found.get(name);
    if (name === undefined || commit === undefined) throw await this.#noSuchRef();
    const isPeeled = name.endsWith('^{}');
    const bare = isPeeled ? name.slice(0, -'^{}'.length) : name;
    return { name: bare, commit, tag: isPeeled ? (found.get(bare) ?? null) : null };
  }

  /**
   * Runs a git command that contacts the server.
   *
   * @param repository the local repository, if any
   * @throws Failure (unreachable) with git's reason and advice; (retryable) when another run
   *   fetches into the same repository for too long
   */
  async ask(words: readonly string[], repository?: string): Promise<GitRun> {
    const { timeoutMs, signal } = this.#options;
    const triesMax = Math.ceil(Math.min(turnMsMax, timeoutMs) / turnPauseMs);
    for (let tries = 1; ; tries += 1) {
      const run = await this.#run(words, repository);
      if (run.status === 0) return run;
      if (!isBusy(run)) throw await this.#refusal(run);
      if (tries >= triesMax) {
        const text = `Another run fetches ${this.url} into the same folder at the moment; try again`;
        throw new Failure('retryable', text);
      }
      await delay(turnPauseMs, undefined, { signal });
    }
  }

  async #run(words: readonly string[], repository: string | undefined): Promise<GitRun> {
    const about = repository === undefined ? {} : { repository };
    const isLocal = this.#location.protocol === 'file';
    if (isLocal) assertOurs(this.url);
    const [verb = '', ...rest] = words;
    const command = {
      arguments: isLocal ? [verb, `--upload-pack=${localUploadPack}`, ...rest] : words,
      speaks: isLocal ? ('file' as const) : ('https:ssh' as const),
      outputBytesMax: answerBytesMax,
      ...about,
      writesFiles: repository !== undefined,
    };
    return await runGit(command, this.#options);
  }

  async #refusal({ message }: GitRun): Promise<Failure> {
    if (isHostKeyRefused(message)) return await hostKeyFailure(this.url, this.#options);
    const text = [`Cannot read ${this.url}:`, message, adviceOn(message)].join('\n');
    return new Failure('unreachable', text.trimEnd());
  }

  async #listRemote(names: readonly string[]): Promise<Map<string, string>> {
    const { stdout } = await this.ask(['ls-remote', '--quiet', '--', this.url, ...names]);
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
}

/** Returns whether another git works on the same repository, or has just done so. */
function isBusy({ stderr }: GitRun): boolean {
  return /\.lock': File exists|cannot lock ref|shallow file has changed/.test(stderr);
}

/**
 * A tag can refer to any object.
 *
 * @param type as git names it, or another text while unknown
 * @throws Failure (invalid input)
 */
export function assertCommit(url: string, name: string, type: string | undefined): void {
  if (type !== 'tree' && type !== 'blob') return;
  const text = `${name} of ${url} refers to a ${type}. Name a branch, or a tag of a commit: URL#ref`;
  throw new Failure('invalidInput', text);
}

/**
 * Reads a local repository whose settings anybody may have written: they must not run a program or
 * reach another repository. git passes the text to a shell.
 */
const localUploadPack = [
  'env',
  'GIT_ALLOW_PROTOCOL=none',
  'GIT_NO_LAZY_FETCH=1',
  'git',
  ...['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'core.sshCommand=false'].flatMap(
    (setting) => ['-c', setting],
  ),
  ...['uploadpack.allowFilter=true', 'uploadpack.allowAnySHA1InWant=true'].flatMap((setting) => [
    '-c',
    setting,
  ]),
  'upload-pack',
].join(' ');

/**
 * git does not read repositories of other users, and its settings that would permit it are ignored
 * here.
 *
 * @throws Failure (invalid input) with the way out
 */
function assertOurs(url: string): void {
  const path = filePathOf(url) ?? '';
  const places = [path, join(path, '.git')].filter((place) => existsSync(place));
  if (places.length === 0) {
    throw new Failure('invalidInput', `No such repository: ${path}`);
  }
  const foreign = places.find((place) => statSync(place).uid !== process.geteuid?.());
  if (foreign === undefined) return;
  const { uid } = statSync(foreign);
  const text = `${foreign} belongs to another user (${uid}), and git does not read such repositories. Run this \
as that user, or clone it: git clone --bare ${path} COPY, and name file://…/COPY. Its current files \
can be read without file://.`;
  throw new Failure('invalidInput', text);
}

const advice: readonly (readonly [RegExp, string])[] = [
  // First, because a commit id may contain the numbers of the other patterns.
  [
    /not our ref|unadvertised object/i,
    'The repository no longer has that commit, or its server does not serve commits by id.',
  ],
  [
    /does not appear to be a git repository|not a git repository/i,
    'Name the folder that contains .git, or a bare repository.',
  ],
  [
    /permission denied|authentication failed|could not read (?:username|password)|403/i,
    'The token or key was not accepted, or none was given.',
  ],
  [/redirect|301|302|307|308/i, 'The server redirects; use the address it redirects to.'],
  [
    /certificate|ssl/i,
    'The certificate is not trusted; set the file of its certificate authority.',
  ],
  [/could not resolve host/i, 'The host name cannot be resolved.'],
];

function adviceOn(message: string): string {
  return advice.find(([words]) => words.test(message))?.[1] ?? '';
}
