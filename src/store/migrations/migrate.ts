/** Brings a database to the schema of this build: one runner at a time, resumable at each statement. */
import { Failure } from '../../failure.ts';
import type { DatabaseSettings } from '../../settings.ts';
import { isDenied } from '../connection/denied.ts';
import { isUnavailable } from '../connection/unavailable.ts';
import * as leases from './leases.ts';
import type { MigrateOptions } from './migrate-options.ts';
import { type Migration, readMigrations } from './migration-files.ts';
import {
  close,
  grantAdvice,
  type MigrationSession,
  openExisting,
  openSession,
  readVersion,
} from './migration-session.ts';
import { assertRunnable, compareSchema, type SchemaStatus } from './migration-state.ts';
import { runPending } from './migrator.ts';
import * as schemaMigrations from './schema-migrations.ts';

export interface MigrationReport {
  /** Names of the migrations that this call ran; empty when another runner or an earlier run did. */
  readonly applied: readonly string[];
  /** `MariaDB 10.11.19` */
  readonly databaseVersion: string;
  /** Name of the newest migration of this build. */
  readonly schemaVersion: string;
}

/**
 * Returns once the database has the schema of this build, whichever process ran the migrations. Any
 * number of processes may call it at once.
 *
 * @throws Failure when the database is newer than this build allows, when an applied file was edited, or
 * when a statement fails (naming file and line)
 */
export async function migrate(
  settings: DatabaseSettings,
  options: MigrateOptions,
): Promise<MigrationReport> {
  const migrations = readMigrations(options.directory);
  await using session = await openSession(settings, options);
  try {
    const applied = await applyMissing(session, migrations, options);
    return {
      applied,
      databaseVersion: session.databaseVersion,
      schemaVersion: migrations.at(-1)?.name ?? 'none',
    };
  } catch (error) {
    throw explain(error, settings);
  }
}

/** Reads first, so that a user without DDL rights can start on a current schema. */
async function applyMissing(
  session: MigrationSession,
  migrations: readonly Migration[],
  options: MigrateOptions,
): Promise<string[]> {
  options.signal?.throwIfAborted();
  const isCurrent = async (): Promise<boolean> => {
    const status = compareSchema(migrations, await schemaMigrations.listAll(session.watch));
    assertRunnable(status);
    return status.state === 'current' || status.state === 'ahead';
  };
  if (await isCurrent()) return [];
  await leases.createTable(session.watch);
  await schemaMigrations.createTable(session.watch);
  return await runPending(session, migrations, isCurrent, options);
}

/** Explains errors outside the statements of migrations, which `migration-run.ts` explains. */
function explain(error: unknown, settings: DatabaseSettings): unknown {
  if (error instanceof Failure) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (isDenied(error)) {
    return new Failure(
      'invalidInput',
      `User ${settings.user} may not change the schema (${message}). ${grantAdvice}`,
      { cause: error },
    );
  }
  if (!isUnavailable(error)) return error;
  return new Failure(
    'unreachable',
    `The connection to the database broke during the migration (${message}). Run it again once the ` +
      'database answers; it continues where it stopped.',
    { cause: error },
  );
}

export interface MigrationStatus extends SchemaStatus {
  /** `MariaDB 10.11.19`; null when the database does not exist. */
  readonly databaseVersion: string | null;
}

/** Compares the database with this build and changes nothing. A missing database counts as empty. */
export async function migrationStatus(
  settings: DatabaseSettings,
  options: { readonly directory?: string } = {},
): Promise<MigrationStatus> {
  const migrations = readMigrations(options.directory);
  const connection = await openExisting(settings);
  if (connection === null) return { ...compareSchema(migrations, []), databaseVersion: null };
  try {
    const applied = await schemaMigrations.listAll(connection);
    const databaseVersion = await readVersion(connection);
    return { ...compareSchema(migrations, applied), databaseVersion };
  } finally {
    await close(connection);
  }
}
