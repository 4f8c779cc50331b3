/** Knows the server of a repository: what its refs stand for now, and what its refusals mean. */
import { Failure } from '../../failure.ts';
import { nearest } from '../../suggest.ts';
import { type GitOptions, type GitRun, runGit } from './git-command.ts';
import type { GitLocation } from './git-location.ts';

export interface Resolved {
  /** What to ask the server for. */
  readonly name: string;
  readonly commit: string;
}

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

  /**
   * Runs a command of git that talks to the server.
   *
   * @param repository the local one that it is about, if any
   * @throws Failure (unreachable) with git's reason, and advice where there is any
   */
  async ask(words: readonly string[], repository?: string): Promise<GitRun> {
    const about = repository === undefined ? {} : { repository };
    const command = { arguments: words, network: true, outputBytesMax: answerBytesMax, ...about };
    const run = await runGit(command, this.#options);
    if (run.status === 0) return run;
    const text = [`Cannot read ${this.url}:`, run.message, adviceOn(run.message)].join('\n');
    throw new Failure('unreachable', text.trimEnd());
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
