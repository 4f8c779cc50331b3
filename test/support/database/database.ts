/** Knows how a test gets a database of its own: real, migrated, dropped at the end. */
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
  /** Reaches it over loopback TCP, as `DB_*` variables can say it. */
  readonly settings: DatabaseSettings;
  readonly database: Database;
}

/**
 * A fresh database as every migration leaves it: copied, because to run them for each file costs more
 * than most files. Whatever a test has done with it, races above all,
 * must leave every rule between tables kept: its disposal looks, and throws what is broken, unless
 * the test is there to break some.
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

/** A fresh database without tables, for tests of the migrations themselves. */
export function createEmptyDatabase(): Promise<EmptyDatabase> {
  return createDatabaseOn(inject('databaseServer'));
}

/** Under which names information_schema tells the tables: a sharded engine keeps the global ones apart. */
export function schemaNames({ name }: DatabaseSettings): readonly string[] {
  return inject('databaseServer').keyspaces === undefined ? [name] : [name, `${name}_global`];
}
