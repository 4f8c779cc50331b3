/** Knows a repository of our own in the cache: what is fetched into it, and how it is read without fetching. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../../failure.ts';
import { type GitCommand, type GitOptions, type GitRun, runGit } from './git-command.ts';
import { removeOld } from './git-leftovers.ts';

const setUpBytesMax = 1024 * 1024;
const listBytesMax = 1024 * 1024;
export class BareRepository {
  /** What is fetched into. */
  readonly directory: string;
  /**
   * Empty repository through which the objects are read. It knows no remote, so git reports what was
   * left out as missing instead of fetching it after all.
   */
  readonly #reader: string;
  readonly #options: GitOptions;

  /** @param name of the folder below the cache directory */
  constructor(name: string, options: GitOptions) {
    this.#options = options;
    this.directory = join(options.cacheDirectory, name);
    this.#reader = join(options.cacheDirectory, 'reader.git');
  }

  /**
   * Makes ready to fetch: makes what is missing, and removes what a git that was killed has left. None
   * outlives its deadline, so a lock or half a pack that is older by far is nobody's.
   */
  async create(): Promise<void> {
    await this.#init(this.directory);
    await this.#init(this.#reader);
    removeOld(this.directory, 2 * this.#options.timeoutMs);
  }

  /** What each of the names stands for: `commit`, `tree`, `blob`, `tag`, or something else if it is not here. */
  async typesOf(names: readonly string[]): Promise<string[]> {
    const input = names.map((name) => `${name}\n`).join('');
    const words = ['cat-file', '--batch-check=%(objecttype)'];
    const run = await this.run({ arguments: words, input, outputBytesMax: listBytesMax });
    return run.stdout.toString('utf8').trim().split('\n');
  }

  /** Runs git on the objects; nothing is fetched. */
  run(command: Omit<GitCommand, 'repository' | 'objects' | 'speaks'>): Promise<GitRun> {
    const objects = join(this.directory, 'objects');
    return runGit({ ...command, repository: this.#reader, objects, speaks: 'none' }, this.#options);
  }

  /** As {@link run}, where it matters which commits have parents that were not fetched. */
  runInside(command: Omit<GitCommand, 'repository' | 'objects' | 'speaks'>): Promise<GitRun> {
    return runGit({ ...command, repository: this.directory, speaks: 'none' }, this.#options);
  }

  /** The commits whose parents were not fetched. */
  cutCommits(): ReadonlySet<string> {
    const file = join(this.directory, 'shallow');
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    return new Set(text.split('\n').filter((line) => line !== ''));
  }

  /** Made beside its place and put there whole, so that neither a death nor another run leaves half of one. */
  async #init(repository: string): Promise<void> {
    if (existsSync(repository)) return;
    mkdirSync(this.#options.cacheDirectory, { recursive: true, mode: 0o700 });
    const draft = mkdtempSync(`${repository}.draft-`);
    try {
      await this.#initDraft(draft, repository);
      renameSync(draft, repository);
    } catch (error) {
      rmSync(draft, { recursive: true, force: true });
      // Another run has made it meanwhile.
      if (!existsSync(repository)) throw error;
    }
  }

  async #initDraft(draft: string, repository: string): Promise<void> {
    const words = ['init', '--quiet', '--bare', '--', draft];
    const command = { arguments: words, speaks: 'none' as const, outputBytesMax: setUpBytesMax };
    const { status, message } = await runGit(command, this.#options);
    if (status !== 0) {
      throw new Failure('unexpected', `git cannot make its folder ${repository}: ${message}`);
    }
  }
}
