/** Knows how a test gets a database of its own: real, migrated, dropped at the end. */
import { randomBytes } from 'node:crypto';
import { createConnection } from 'mysql2/promise';
import { inject } from 'vitest';
import { createLog } from '../src/log.ts';
import { Secret } from '../src/secret.ts';
import type { DatabaseSettings } from '../src/settings.ts';
import { type Database, openDatabase } from '../src/store/connection/db.ts';
import { checkConsistency } from '../src/store/consistency.ts';
import { migrate } from '../src/store/migrations/migrate.ts';
import type { TestDatabaseServer } from './database-server.ts';

export interface TestDatabase extends AsyncDisposable {
  /** Reaches it over loopback TCP, as `DB_*` variables can say it. */
  readonly settings: DatabaseSettings;
  readonly database: Database;
}

/**
 * A fresh database with every migration applied. Whatever a test has done with it, races above all,
 * must leave every rule between tables kept: its disposal looks, and throws what is broken, unless
 * the test is there to break some.
 */
export async function createTestDatabase({ breaksRules = false } = {}): Promise<TestDatabase> {
  const empty = await createEmptyDatabase();
  await migrate(empty.settings, { log: createLog({ level: 'silent' }) });
  const database = openDatabase(empty.settings);
  return {
    settings: empty.settings,
    database,
    [Symbol.asyncDispose]: async () => {
      try {
        if (!breaksRules) await requireConsistency(database);
      } finally {
        await database[Symbol.asyncDispose]();
        await empty[Symbol.asyncDispose]();
      }
    },
  };
}

/** @throws Error that lists the rows which break a rule between tables */
async function requireConsistency(database: Database): Promise<void> {
  const { found } = await checkConsistency(database);
  const told = found.map(({ table, id, fault }) => `${table} ${id} ${fault}`);
  if (told.length > 0) throw new Error(`rows break rules between tables: ${told.join('; ')}`);
}

/** A fresh database without tables, for tests of the migrations themselves. */
export async function createEmptyDatabase(): Promise<
  { readonly settings: DatabaseSettings } & AsyncDisposable
> {
  const server = inject('databaseServer');
  const name = `t_${randomBytes(8).toString('hex')}`;
  await administer(server, `CREATE DATABASE ${name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  return {
    settings: {
      host: server.host,
      port: server.port,
      socketPath: null,
      user: server.user,
      password: new Secret(server.password, 'test'),
      name,
      poolSize: 5,
      tls: { mode: 'DISABLED', ca: null, cert: null, key: null },
    },
    [Symbol.asyncDispose]: () => administer(server, `DROP DATABASE IF EXISTS ${name}`),
  };
}

async function administer(server: TestDatabaseServer, statement: string): Promise<void> {
  const { host, port, user, password } = server;
  const connection = await createConnection({ host, port, user, password });
  try {
    await connection.query(statement);
  } finally {
    await connection.end();
  }
}
