/** Resolves the database of a command: that of the settings, or the running one of the home. */
import type { EmbeddedConnection } from '../../embedded/embedded-database.ts';
import { Failure } from '../../failure.ts';
import type { DatabaseSettings, Settings } from '../../settings.ts';
import { migrationStatus } from '../../store/migrations/migrate.ts';
import { assertUsableSchema } from '../../store/migrations/migration-state.ts';

/**
 * The database of the settings, or else the embedded database of `home` (a folder) while its
 * `gatewright up` runs.
 *
 * @throws Failure that names the missing settings when there is neither
 */
export async function resolveDatabase(
  settings: Pick<Settings, 'database' | 'databasePoolSize'>,
  home: string,
): Promise<DatabaseSettings> {
  if (settings.database !== null) return settings.database;
  const { findRunningDatabase } = await import('../../embedded/embedded-database.ts');
  const running = await findRunningDatabase(home);
  if (running !== null) return embeddedSettings(running, settings.databasePoolSize);
  throw new Failure(
    'invalidInput',
    `No database is set, and none runs in ${home}. Set DB_HOST, DB_USER, DB_PASS and DB_NAME to ` +
      'those of a MariaDB or MySQL server, or run `gatewright up`, which starts its own.',
  );
}

/** Settings of the embedded database: over its socket, without encryption. */
export function embeddedSettings(
  connection: EmbeddedConnection,
  poolSize: number,
): DatabaseSettings {
  return {
    host: 'localhost',
    port: 0,
    socketPath: connection.socketPath,
    user: connection.user,
    password: connection.password,
    name: connection.name,
    poolSize,
    tls: { mode: 'DISABLED', ca: null, cert: null, key: null },
  };
}

/** @throws Failure unless the database has the schema of this build */
export async function requireMigrated(database: DatabaseSettings): Promise<void> {
  assertUsableSchema(await migrationStatus(database), database.name);
}

/** `user@host:port/name` or `user@socket/name`. */
export function describeDatabase(database: DatabaseSettings): string {
  const place = database.socketPath ?? `${database.host}:${database.port}`;
  return `${database.user}@${place}/${database.name}`;
}
