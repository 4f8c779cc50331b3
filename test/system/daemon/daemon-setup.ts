/** Sets up a server, a Git server and a folder with credentials for each daemon test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { type GitServer, startGitServer } from '../../support/git/git-server.ts';
import type { TestServer } from '../../support/server/server.ts';
import { startSyncServer } from '../../support/sync/sync-setup.ts';
import { writeCredentials } from './daemon-process.ts';

export interface DaemonPlace {
  readonly server: TestServer;
  readonly git: GitServer;
  /** Working folder of the daemon. */
  readonly folder: string;
}

/** Call once in a file; `take` receives the set-up before each test. */
export function eachInPlace(take: (place: DaemonPlace) => void): void {
  let place: DaemonPlace;
  beforeEach(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatewright-daemon-'));
    place = { server: await startSyncServer(), git: await startGitServer(), folder };
    writeCredentials(folder, place.server);
    take(place);
  });
  afterEach(async () => {
    rmSync(place.folder, { recursive: true, force: true });
    await place.git[Symbol.asyncDispose]();
    await place.server[Symbol.asyncDispose]();
  });
}
