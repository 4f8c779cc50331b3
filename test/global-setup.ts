/** Knows how a test run begins and ends: one database server for all projects that ask for it. */
import type { TestProject } from 'vitest/node';
import {
  externalDatabaseServer,
  startTestDatabaseServer,
  type TestDatabaseServer,
} from './database-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    databaseServer: TestDatabaseServer;
  }
}

interface SharedServer {
  readonly started: Promise<{ server: TestDatabaseServer; stop: () => Promise<void> }>;
  users: number;
}

/** Each project loads this file anew, so what they share hangs on the process. */
const shared = globalThis as typeof globalThis & { gatewrightTestServer?: SharedServer };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const external = externalDatabaseServer(process.env.TEST_DATABASE_URL);
  const start = external === null ? startTestDatabaseServer : () => Promise.resolve(external);
  shared.gatewrightTestServer ??= { started: start(), users: 0 };
  const mine = shared.gatewrightTestServer;
  mine.users += 1;
  project.provide('databaseServer', (await mine.started).server);
  return async () => {
    mine.users -= 1;
    if (mine.users > 0) return;
    delete shared.gatewrightTestServer;
    await (await mine.started).stop();
  };
}
