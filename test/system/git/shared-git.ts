/** Provides a Git server and a cache folder shared by the tests of a file. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type GitServer, startGitServer } from '../../support/git/git-server.ts';

export type Repository = ReturnType<GitServer['repository']>;

export interface SharedGit {
  readonly server: GitServer;
  readonly folder: string;
  /** Creates an empty repository with a unique name. */
  readonly newRepository: () => Repository;
}

/** Call once in a file; `take` receives them before the first test. */
export function shareGit(take: (shared: SharedGit) => void): void {
  let shared: SharedGit;
  let names = 0;
  beforeAll(async () => {
    const server = await startGitServer();
    const newRepository = (): Repository => {
      names += 1;
      return server.repository(`team-${names}`);
    };
    shared = { server, folder: mkdtempSync(join(tmpdir(), 'gatewright-git-')), newRepository };
    take(shared);
  });
  afterAll(async () => {
    await shared.server[Symbol.asyncDispose]();
    rmSync(shared.folder, { recursive: true, force: true });
  });
}
