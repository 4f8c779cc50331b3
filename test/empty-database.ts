/** Knows how a database without tables comes to be on a test's server, and goes. */
import { randomBytes } from 'node:crypto';
import { createConnection } from 'mysql2/promise';
import { Secret } from '../src/secret.ts';
import type { DatabaseSettings } from '../src/settings.ts';
import type { TestDatabaseServer } from './database-server.ts';

export interface EmptyDatabase extends AsyncDisposable {
  readonly settings: DatabaseSettings;
}

export async function createDatabaseOn(server: TestDatabaseServer): Promise<EmptyDatabase> {
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
      // A crowd of a test on a busy machine is no outage.
      poolWaitSeconds: 300,
      tls: { mode: 'DISABLED', ca: null, cert: null, key: null },
    },
    [Symbol.asyncDispose]: () => administer(server, `DROP DATABASE IF EXISTS ${name}`),
  };
}

/** Runs statements, divided by `;`, in one go. */
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
