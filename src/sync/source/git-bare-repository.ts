/** Manages a bare repository in the cache: fetching into it, and reading it without fetching. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../../failure.ts';
import { type GitCommand, type GitOptions, type GitRun, runGit } from './git-command.ts';
import { removeOld } from './git-leftovers.ts';

const setUpBytesMax = 1024 * 1024;
const listBytesMax = 1024 * 1024;
export class BareRepository {
  /** The repository that is fetched into. */
  readonly directory: string;
  /**
   * An empty repository through which the objects are read. It has no remote, so git reports
   * missing objects instead of fetching them.
   */
  readonly #reader: string;
  readonly #options: GitOptions;

  /** @param name of the folder in the cache directory */
  constructor(name: string, options: GitOptions) {
    this.#options = options;
    this.directory = join(options.cacheDirectory, name);
    this.#reader = join(options.cacheDirectory, 'reader.git');
  }

  /**
   * Creates what is missing, and removes what a killed git has left. Every git has a deadline, so
   * locks and partial packs that are far older have no owner.
   */
  async create(): Promise<void> {
    await this.#init(this.directory);
    await this.#init(this.#reader);
    removeOld(this.directory, 2 * this.#options.timeoutMs);
  }

  /**
   * Returns the type of each name: `commit`, `tree`, `blob`, `tag`, or another text if it is
   * missing.
   */
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

  /** Like {@link run}, where it matters which parents were not fetched. */
  runInside(command: Omit<GitCommand, 'repository' | 'objects' | 'speaks'>): Promise<GitRun> {
    return runGit({ ...command, repository: this.directory, speaks: 'none' }, this.#options);
  }

  /** The commits whose parents were not fetched. */
  cutCommits(): ReadonlySet<string> {
    const file = join(this.directory, 'shallow');
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    return new Set(text.split('\n').filter((line) => line !== ''));
  }

  /**
   * Created next to its place and renamed, so that neither a crash nor another run leaves it
   * incomplete.
   */
  async #init(repository: string): Promise<void> {
    if (existsSync(repository)) return;
    mkdirSync(this.#options.cacheDirectory, { recursive: true, mode: 0o700 });
    const draft = mkdtempSync(`${repository}.draft-`);
    try {
      await this.#initDraft(draft, repository);
      renameSync(draft, repository);
    } catch (error) {
      rmSync(draft, { recursive: true, force: true });
      // Another run has created it meanwhile.
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
