/** Creates and drops databases without tables on the test server. */
import { randomBytes } from 'node:crypto';
import { createConnection } from 'mysql2/promise';
import { Secret } from '../../../src/secret.ts';
import type { DatabaseSettings } from '../../../src/settings.ts';
import { takeKeyspace } from '../../engines/keyspaces.ts';
import type { TestDatabaseServer } from './database-server.ts';

export interface EmptyDatabase extends AsyncDisposable {
  readonly settings: DatabaseSettings;
}

export async function createDatabaseOn(server: TestDatabaseServer): Promise<EmptyDatabase> {
  if (server.keyspaces !== undefined) return takeDatabase(server, 'empty');
  const name = `t_${randomBytes(8).toString('hex')}`;
  await administer(server, `CREATE DATABASE ${name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  return {
    settings: settingsOf(server, name),
    [Symbol.asyncDispose]: () => administer(server, `DROP DATABASE IF EXISTS ${name}`),
  };
}

/** Takes a keyspace of a sharded engine, which disposal returns to the pool. */
export async function takeDatabase(
  server: TestDatabaseServer,
  kind: 'empty' | 'migrated',
): Promise<EmptyDatabase> {
  const { name, [Symbol.asyncDispose]: giveBack } = await takeKeyspace(server.keyspaces!, kind);
  return { settings: settingsOf(server, name), [Symbol.asyncDispose]: giveBack };
}

function settingsOf(server: TestDatabaseServer, name: string): DatabaseSettings {
  return {
    host: server.host,
    port: server.port,
    socketPath: null,
    user: server.user,
    password: new Secret(server.password, 'test'),
    name,
    poolSize: 5,
    // Many connections and slow responses on a busy machine are no outage.
    poolWaitSeconds: 300,
    statementSeconds: 300,
    connectTimeoutSeconds: 20,
    tls: { mode: 'DISABLED', ca: null, cert: null, key: null },
  };
}

/** Runs several statements, separated by `;`. */
export async function administer(server: TestDatabaseServer, statements: string): Promise<void> {
  const { host, port, user, password } = server;
  const account = { host, port, user, password };
  const connection = await createConnection({ ...account, multipleStatements: true });
  try {
    await connection.query(statements);
  } finally {
    await connection.end();
  }
}
