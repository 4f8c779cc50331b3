/** Knows which database a command means: the one in the settings, or the running one of the home. */
import type { EmbeddedConnection } from '../../embedded/embedded-database.ts';
import { Failure } from '../../failure.ts';
import type { DatabaseSettings, Settings } from '../../settings.ts';
import { migrationStatus } from '../../store/migrations/migrate.ts';
import { assertUsableSchema } from '../../store/migrations/migration-state.ts';

/**
 * The database of the settings; where they name none, the embedded database of `home` (a folder)
 * while its `gatewright up` runs. Throws a Failure that says what to set when there is neither.
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
      'those of a MariaDB or MySQL server, or run `gatewright up`, which brings its own.',
  );
}

/** The embedded database as the store takes it: over its socket, which needs no encryption. */
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

/** Throws a Failure unless the database has the schema this build needs. */
export async function assertMigrated(database: DatabaseSettings): Promise<void> {
  assertUsableSchema(await migrationStatus(database), database.name);
}

/** `user@host:port/name` or `user@socket/name`, for people. */
export function describeDatabase(database: DatabaseSettings): string {
  const place = database.socketPath ?? `${database.host}:${database.port}`;
  return `${database.user}@${place}/${database.name}`;
}
