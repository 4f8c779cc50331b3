/** Shares a server and a sync client between the tests of a file, and cleans up after each test. */
import { rmSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { TestServer } from '../server/server.ts';
import { openSync, type SyncSetup, startSyncServer } from './sync-setup.ts';

export interface SharedSync {
  readonly server: TestServer;
  readonly sync: SyncSetup;
}

/** Call it once in a file; `take` receives both before the first test. */
export function shareSync(take: (shared: SharedSync) => void): void {
  let shared: SharedSync;
  beforeAll(async () => {
    const server = await startSyncServer();
    shared = { server, sync: openSync(server) };
    take(shared);
  });
  afterEach(async () => {
    const { sync } = shared;
    expect(await sync.cycle('')).toMatchObject({ ending: 'success' });
    rmSync(sync.secretsFolder, { recursive: true, force: true });
  });
  afterAll(async () => {
    await shared.sync[Symbol.asyncDispose]();
    await shared.server[Symbol.asyncDispose]();
  });
}
