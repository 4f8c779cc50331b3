/** Knows the server of a repository: what its refs stand for now, and what its refusals mean. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '../../failure.ts';
import { nearest } from '../../suggest.ts';
import { type GitOptions, type GitRun, runGit } from './git-command.ts';
import { hostKeyFailure, isHostKeyRefused } from './git-host-key.ts';
import { type GitLocation, pathOf } from './git-location.ts';

export interface Resolved {
  /** What to ask the server for. */
  readonly name: string;
  readonly commit: string;
  /** The tag's own object, which may be signed; null for a branch, a commit and a plain tag. */
  readonly tag: string | null;
}

/** How long a run waits for another that fetches into the same repository, and between its looks. */
const turnMsMax = 10_000;
const turnPauseMs = 200;
const answerBytesMax = 32 * 1024 * 1024;

/** The repository at a location, as its server tells of it. */
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

  /** Asks the server which commit the ref stands for now. */
  async resolve(): Promise<Resolved> {
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
   * Runs a command of git that talks to the server.
   *
   * @param repository the local one that it is about, if any
   * @throws Failure (unreachable) with git's reason, and advice where there is any; (retryable) when
   *   another run fetches into the same repository for longer than is waited for
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

/** Whether another git works on the same repository, or has just done so. */
function isBusy({ stderr }: GitRun): boolean {
  return /\.lock': File exists|cannot lock ref|shallow file has changed/.test(stderr);
}

/**
 * A tag can stand for anything.
 *
 * @param type as git calls it, or something else where it is not known yet
 * @throws Failure (invalid input)
 */
export function assertCommit(url: string, name: string, type: string | undefined): void {
  if (type !== 'tree' && type !== 'blob') return;
  const text = `${name} of ${url} stands for a ${type}. Name a branch, or a tag of a commit: URL#ref`;
  throw new Failure('invalidInput', text);
}

/**
 * What reads a repository of this machine, whose settings are whoever's who made it: nothing in them
 * may run a program or reach another repository. git gives the text to a shell.
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
 * git reads no repository of another user, and its settings that would permit it are not read here.
 *
 * @throws Failure (invalid input) with what to do
 */
function assertOurs(url: string): void {
  const path = pathOf(url) ?? '';
  const places = [path, join(path, '.git')].filter((place) => existsSync(place));
  if (places.length === 0) {
    throw new Failure('invalidInput', `No such repository: ${path}`);
  }
  const foreign = places.find((place) => statSync(place).uid !== process.geteuid?.());
  if (foreign === undefined) return;
  const { uid } = statSync(foreign);
  const text = `${foreign} belongs to another user (${uid}), and git reads no such repository. Run this \
as that user, or clone it: git clone --bare ${path} COPY, and name file://…/COPY. Its files as they lie \
there can be read without file://.`;
  throw new Failure('invalidInput', text);
}

const advice: readonly (readonly [RegExp, string])[] = [
  // First: an id of a commit may hold the number of any other case.
  [
    /not our ref|unadvertised object/i,
    'That commit is in the repository no more, or its server gives out no commits by their id.',
  ],
  [
    /does not appear to be a git repository|not a git repository/i,
    'Name the folder that holds .git, or a bare repository.',
  ],
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
