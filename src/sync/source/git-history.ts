/** Fetches commits and tags without files, so that they are verified before any file is fetched. */
import { Failure } from '../../failure.ts';
import { BareRepository } from './git-bare-repository.ts';
import type { GitOptions, GitRun } from './git-command.ts';
import { assertCommit, type GitRemote, type ResolvedRef } from './git-remote.ts';
import type { Signers } from './git-signers.ts';
import { type Descent, descentCommitsMax } from './source-files.ts';

/** A commit or tag, and git's output about its signature. */
export interface SignedObject {
  readonly kind: 'commit' | 'tag';
  /** The raw object: headers, an empty line, and the message; a tag ends with its signature. */
  readonly text: string;
  readonly run: GitRun;
}

/** Depths of the fetches, in commits; the next is used when the one before was not enough. */
const depths = [64, 1024, descentCommitsMax];
const judgedRef = 'refs/gatewright/judged';
/** Limit of a commit or tag; usual ones have some hundred bytes, but a message may be long. */
const objectBytesMax = 4 * 1024 * 1024;

export class GitHistory {
  readonly #remote: GitRemote;
  readonly #repository: BareRepository;

  /** @param name of the folder in the cache directory; one for each URL and ref */
  constructor(remote: GitRemote, name: string, options: GitOptions) {
    this.#remote = remote;
    this.#repository = new BareRepository(`${name}-history.git`, options);
  }

  /**
   * Ensures that a commit, and the tag that led to it, are present, without trees and files.
   *
   * @throws Failure (retryable) when the ref has moved meanwhile
   */
  async fetch({ name, commit, tag }: ResolvedRef): Promise<void> {
    await this.#repository.create();
    const wanted = tag === null ? [commit] : [tag, commit];
    if (await this.#has(wanted)) return;
    await this.#fetch(name, depths[0]!);
    if (await this.#has(wanted)) return;
    assertCommit(this.#remote.url, name, (await this.#repository.typesOf([commit]))[0]);
    throw new Failure('retryable', `${this.#remote.url} changed while it was read; try again`);
  }

  /** Lets git verify the signature of a present commit or tag. */
  async verify(kind: 'commit' | 'tag', id: string, signers: Signers): Promise<SignedObject> {
    const bounds = { outputBytesMax: objectBytesMax };
    const run = await this.#repository.run({
      arguments: [`verify-${kind}`, '--raw', id],
      signers,
      ...bounds,
    });
    const object = await this.#repository.run({ arguments: ['cat-file', kind, id], ...bounds });
    return { kind, text: object.stdout.toString('utf8'), run };
  }

  /**
   * Returns whether a present commit descends from an earlier one. Fetches commits from the newest
   * on, in three steps, until the earlier one is found or the history is complete.
   */
  async descent(earlier: string, resolved: ResolvedRef): Promise<Descent> {
    const { name, commit } = resolved;
    if (earlier === commit) return 'descendant';
    await this.fetch(resolved);
    if (await this.#isAncestor(earlier, commit)) return 'descendant';
    for (const depth of depths.slice(1)) {
      if (await this.#isWhole(commit)) return 'unrelated';
      await this.#fetch(name, depth);
      if (await this.#isAncestor(earlier, commit)) return 'descendant';
    }
    return (await this.#isWhole(commit)) ? 'unrelated' : 'unproven';
  }

  async #isAncestor(earlier: string, commit: string): Promise<boolean> {
    if (!(await this.#has([earlier, commit]))) return false;
    const words = ['merge-base', '--is-ancestor', earlier, commit];
    const { status } = await this.#repository.runInside({ arguments: words, outputBytesMax: 1024 });
    return status === 0;
  }

  /** Returns whether the history of the commit is complete. */
  async #isWhole(commit: string): Promise<boolean> {
    const words = ['rev-list', '--max-parents=0', commit];
    const run = await this.#repository.runInside({
      arguments: words,
      outputBytesMax: objectBytesMax,
    });
    const cut = this.#repository.cutCommits();
    const roots = run.stdout.toString('utf8').trim().split('\n');
    return run.status === 0 && roots.every((root) => !cut.has(root));
  }

  /** @param depth in commits */
  async #fetch(name: string, depth: number): Promise<void> {
    const words = [
      'fetch',
      '--quiet',
      `--depth=${depth}`,
      '--no-tags',
      '--no-recurse-submodules',
      '--force',
      '--filter=tree:0',
      '--no-write-fetch-head',
      '--',
      this.#remote.url,
      `+${name}:${judgedRef}`,
    ];
    await this.#remote.ask(words, this.#repository.directory);
  }

  async #has(ids: readonly string[]): Promise<boolean> {
    const types = await this.#repository.typesOf(ids);
    return types.length === ids.length && types.every((type) => /^(?:commit|tag)$/.test(type));
  }
}
