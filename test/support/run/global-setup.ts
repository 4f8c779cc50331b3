/** Starts one database server for all projects of a test run, and stops it at the end. */
import type { TestProject } from 'vitest/node';
import {
  externalDatabaseServer,
  startTestDatabaseServer,
  type TestDatabaseServer,
} from '../database/database-server.ts';
import { readMigratedSchema } from '../database/migrated-schema.ts';

declare module 'vitest' {
  interface ProvidedContext {
    databaseServer: TestDatabaseServer;
    /** Statements that create the migrated schema in an empty database. */
    migratedSchema: string;
  }
}

interface SharedServer {
  readonly started: Promise<{
    readonly server: TestDatabaseServer;
    readonly migratedSchema: string;
    readonly stop: () => Promise<void>;
  }>;
  users: number;
}

/** Each project loads this file again, so the shared server is stored on the global object. */
const shared = globalThis as typeof globalThis & { gatewrightTestServer?: SharedServer };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  shared.gatewrightTestServer ??= { started: start(), users: 0 };
  const mine = shared.gatewrightTestServer;
  mine.users += 1;
  const { server, migratedSchema } = await mine.started;
  project.provide('databaseServer', server);
  project.provide('migratedSchema', migratedSchema);
  return async () => {
    mine.users -= 1;
    if (mine.users > 0) return;
    delete shared.gatewrightTestServer;
    await (await mine.started).stop();
  };
}

async function start(): SharedServer['started'] {
  const external = externalDatabaseServer(process.env.TEST_DATABASE_URL);
  const started = external ?? (await startTestDatabaseServer());
  return { ...started, migratedSchema: await readMigratedSchema(started.server) };
}
