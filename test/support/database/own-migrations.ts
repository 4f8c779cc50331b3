/** Provides each migration test with an empty database and a folder of migrations. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import type { FailureKind } from '../../../src/failure.ts';
import { createLog } from '../../../src/log.ts';
import { migrate } from '../../../src/store/migrations/migrate.ts';
import type { MigrateOptions } from '../../../src/store/migrations/migrate-options.ts';
import { createEmptyDatabase } from './database.ts';

export interface OwnMigrations {
  readonly database: Awaited<ReturnType<typeof createEmptyDatabase>>;
  readonly directory: string;
}

export const log = createLog({ level: 'silent' });

/** Call it once in a file; `take` receives both before each test. */
export function eachOnMigrations(take: (own: OwnMigrations) => void) {
  let own: OwnMigrations;
  beforeEach(async () => {
    const directory = await mkdtemp(join(tmpdir(), 'gatewright-migrations-'));
    own = { database: await createEmptyDatabase(), directory };
    take(own);
  });
  afterEach(async () => {
    await own.database[Symbol.asyncDispose]();
    await rm(own.directory, { recursive: true });
  });
  const place = (name: string): string => join(own.directory, `${name}.sql`);
  return {
    write: (name: string, sql: string): Promise<void> => writeFile(place(name), sql),
    remove: (name: string): Promise<void> => rm(place(name)),
    run: (options: Partial<MigrateOptions> = {}) =>
      migrate(own.database.settings, { log, directory: own.directory, ...options }),
  };
}

export const failure = (kind: FailureKind, message: RegExp) =>
  expect.objectContaining({ name: 'Failure', kind, message: expect.stringMatching(message) });
