/** Runs pending migrations with umzug: its storage is `schema_migrations`, its lock is the migration lease. */
import type { LogFn, UmzugStorage } from 'umzug';
import { Failure } from '../../failure.ts';
import type { Log } from '../../log.ts';
import type { MigrateOptions } from './migrate-options.ts';
import type { Migration } from './migration-files.ts';
import { MigrationLock } from './migration-lock.ts';
import { leaseLost, runStatements } from './migration-run.ts';
import type { MigrationSession } from './migration-session.ts';
import * as schemaMigrations from './schema-migrations.ts';

/**
 * Waits while another process migrates. Returns the names of the migrations that this process ran.
 *
 * @param isCurrent whether another process has completed the schema meanwhile
 */
export async function runPending(
  session: MigrationSession,
  migrations: readonly Migration[],
  isCurrent: () => Promise<boolean>,
  options: MigrateOptions,
): Promise<string[]> {
  // Imported here because umzug takes longer to load than everything else at the start of a command.
  const { MigrationError, Umzug } = await import('umzug');
  const lock = new MigrationLock(session, isCurrent, options);
  const byName = new Map(migrations.map((migration) => [migration.name, migration]));
  const umzug = new Umzug({
    migrations: migrations.map((migration) => ({
      name: migration.name,
      path: migration.path,
      up: () => runStatements(session.work, lock.lease, migration, options),
    })),
    storage: storageOf(session, lock, byName),
    logger: loggerOf(options.log),
  });
  lock.attachTo(umzug);
  try {
    return (await umzug.up()).map(({ name }) => name);
  } catch (error) {
    // umzug wraps the failure of a statement, which already names file and line.
    throw error instanceof MigrationError && error.cause instanceof Error ? error.cause : error;
  }
}

function storageOf(
  { work }: MigrationSession,
  lock: MigrationLock,
  migrations: ReadonlyMap<string, Migration>,
): UmzugStorage {
  return {
    executed: async () => {
      const rows = await schemaMigrations.listAll(work);
      return rows.filter((row) => row.finishedAt !== null).map((row) => row.name);
    },
    logMigration: async ({ name }) => {
      const total = migrations.get(name)!.statements.length;
      if (await schemaMigrations.finish(work, lock.lease, name, total)) return;
      throw leaseLost(name);
    },
    unlogMigration: async () => {
      throw new Failure('unexpected', 'migrations only go forward');
    },
  };
}

/** Logs each applied migration; umzug's other messages repeat the calls of `onStep`. */
function loggerOf(log: Log): Record<'info' | 'warn' | 'error' | 'debug', LogFn> {
  const ignore: LogFn = () => undefined;
  return {
    info: ({ event, name, durationSeconds }) => {
      if (event === 'migrated') log.info({ migration: name, durationSeconds }, 'migration applied');
    },
    warn: (message) => log.warn(message, 'migration'),
    error: (message) => log.error(message, 'migration'),
    debug: ignore,
  };
}
