/** Creates a database for a test: real, migrated, dropped at the end. */
import { inject } from 'vitest';
import type { DatabaseSettings } from '../../../src/settings.ts';
import { type Database, openDatabase } from '../../../src/store/connection/db.ts';
import { checkConsistency } from '../../../src/store/consistency.ts';
import {
  administer,
  createDatabaseOn,
  type EmptyDatabase,
  takeDatabase,
} from './empty-database.ts';

export interface TestDatabase extends AsyncDisposable {
  /** Connects over loopback TCP, which `DB_*` variables can express. */
  readonly settings: DatabaseSettings;
  readonly database: Database;
}

/**
 * Creates a fresh database with the migrated schema. The schema is copied, because running the
 * migrations for each file takes longer than most files.
 * Disposal verifies the consistency between tables and throws when a rule is broken, unless the
 * test breaks rules deliberately.
 */
export async function createTestDatabase({ breaksRules = false } = {}): Promise<TestDatabase> {
  const migrated = await createMigratedDatabase();
  const database = openDatabase(migrated.settings);
  return {
    settings: migrated.settings,
    database,
    [Symbol.asyncDispose]: async () => {
      try {
        if (!breaksRules) await requireConsistency(database);
      } finally {
        await database[Symbol.asyncDispose]();
        await migrated[Symbol.asyncDispose]();
      }
    },
  };
}

async function createMigratedDatabase(): Promise<EmptyDatabase> {
  const server = inject('databaseServer');
  if (server.keyspaces !== undefined) return takeDatabase(server, 'migrated');
  const empty = await createEmptyDatabase();
  await administer(server, `USE ${empty.settings.name};\n${inject('migratedSchema')}`);
  return empty;
}

/** @throws Error that lists the rows which break a rule between tables */
async function requireConsistency(database: Database): Promise<void> {
  const { found } = await checkConsistency(database);
  const reported = found.map(({ table, id, fault }) => `${table} ${id} ${fault}`);
  if (reported.length > 0)
    throw new Error(`rows break rules between tables: ${reported.join('; ')}`);
}

/** Creates a database without tables, for tests of the migrations. */
export function createEmptyDatabase(): Promise<EmptyDatabase> {
  return createDatabaseOn(inject('databaseServer'));
}

/**
 * Schema names of the tables in information_schema; a sharded engine has the global tables in
 * another one.
 */
export function schemaNames({ name }: DatabaseSettings): readonly string[] {
  return inject('databaseServer').keyspaces === undefined ? [name] : [name, `${name}_global`];
}
