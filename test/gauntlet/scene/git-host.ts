/** Opens the Git host with the repository that the daemon follows. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort } from '../../support/database/database-server.ts';
import { createRepository, type GitRepository } from '../../support/git/git-server.ts';
import { Witness } from './witness.ts';

/** The repository that the daemon follows, at its branch `main`. */
export class ServedRepository {
  readonly url: string;
  readonly #repository: GitRepository;
  #tip = '';
  #isRewritten = false;

  constructor(repository: GitRepository) {
    this.url = repository.url;
    this.#repository = repository;
  }

  /** Whether its branch leads to a commit that does not descend from the applied one. */
  get isRewritten(): boolean {
    return this.#isRewritten;
  }

  commit(files: Record<string, string>): void {
    this.#tip = this.#repository.commit('main', files);
  }

  /** Replaces the history by one commit without files, like a mistaken force-push. */
  rewrite(): void {
    this.#isRewritten = true;
    this.#repository.commit('main', {}, 'force');
  }

  restore(): void {
    this.#repository.git(['update-ref', 'refs/heads/main', this.#tip]);
    this.#isRewritten = false;
  }
}

export async function openGitHost(folder: string): Promise<{
  readonly witness: Witness<never>;
  readonly repository: ServedRepository;
  /** File with the authority of its certificate, which each start replaces. */
  readonly caFile: string;
}> {
  const root = join(folder, 'git');
  mkdirSync(root);
  const witness = new Witness<never>('git-host', await findFreePort(), root);
  await witness.start();
  const url = `https://localhost:${witness.port}/gauntlet.git`;
  const repository = new ServedRepository(createRepository(join(root, 'gauntlet.git'), url));
  return { witness, repository, caFile: join(root, 'authority.pem') };
}
