/** Knows how a database gets the schema of this build: one runner at a time, resumable at each statement. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '../../failure.ts';
import type { Log } from '../../log.ts';
import type { DatabaseSettings } from '../../settings.ts';
import { isDenied } from '../connection/denied.ts';
import { isUnavailable } from '../connection/unavailable.ts';
import * as leases from './leases.ts';
import { type Migration, readMigrations } from './migration-files.ts';
import { runMigration } from './migration-run.ts';
import {
  close,
  grantAdvice,
  type MigrationSession,
  openExisting,
  openSession,
  readVersion,
} from './migration-session.ts';
import { assertRunnable, judge, type SchemaStatus } from './migration-state.ts';
import * as schemaMigrations from './schema-migrations.ts';

const leaseName = 'schema-migrations';
const leaseTtlMsDefault = 30_000;
const killAgainMs = 500;
const pollMs = 250;
const waitMsMax = 30 * 60_000;

export interface MigrateOptions {
  readonly log: Log;
  readonly signal?: AbortSignal;
  /** Folder of the `.sql` files; the package's own when left out. */
  readonly directory?: string;
  /** A runner that stops giving signs of life is replaced after this long, 30 s when left out. */
  readonly leaseTtlMs?: number;
  /** How often it gives them; a sixth of that when left out. */
  readonly heartbeatMs?: number;
  /** How long a statement waits for a table that others use, before it is tried again; 5 to 30. */
  readonly lockWaitSeconds?: number;
  /** Called before each statement. */
  readonly onStep?: (step: { migration: string; number: number; total: number }) => void;
}

export interface MigrationReport {
  /** Names of the migrations this call ran; empty when another runner or an earlier run did. */
  readonly applied: readonly string[];
  /** `MariaDB 10.11.19` */
  readonly databaseVersion: string;
  /** Name of the newest migration this build knows. */
  readonly schemaVersion: string;
}

/**
 * Brings the database to this build's schema and returns once it is there, whoever did the work.
 * Any number of processes may call it at once. Throws a Failure when the database is newer than
 * this build allows, when an applied file was edited, or when a statement fails (naming file and line).
 */
export async function migrate(
  settings: DatabaseSettings,
  options: MigrateOptions,
): Promise<MigrationReport> {
  const migrations = readMigrations(options.directory);
  await using session = await openSession(settings, options);
  try {
    const applied = await takeTurn(session, migrations, options);
    return {
      applied,
      databaseVersion: session.databaseVersion,
      schemaVersion: migrations.at(-1)?.name ?? 'none',
    };
  } catch (error) {
    throw explain(error, settings);
  }
}

/** Words for what can go wrong around the migrations' own statements, which have theirs. */
function explain(error: unknown, settings: DatabaseSettings): unknown {
  if (error instanceof Failure) return error;
  const said = error instanceof Error ? error.message : String(error);
  if (isDenied(error)) {
    return new Failure(
      'invalidInput',
      `User ${settings.user} may not change the schema (${said}). ${grantAdvice}`,
      { cause: error },
    );
  }
  if (!isUnavailable(error)) return error;
  return new Failure(
    'unreachable',
    `The connection to the database broke during the migration (${said}). Run it again once the ` +
      'database answers; it continues where it stopped.',
    { cause: error },
  );
}

/** Waits until the schema is current or the lease is ours; reads first, so that a reader needs no DDL rights. */
async function takeTurn(
  session: MigrationSession,
  migrations: readonly Migration[],
  options: MigrateOptions,
): Promise<string[]> {
  const { log, leaseTtlMs = leaseTtlMsDefault } = options;
  const owner = randomUUID();
  const deadline = performance.now() + waitMsMax;
  for (let turn = 0; performance.now() < deadline; turn += 1) {
    options.signal?.throwIfAborted();
    const status = judge(migrations, await schemaMigrations.listAll(session.watch));
    assertRunnable(status);
    if (status.state === 'current' || status.state === 'ahead') return [];
    if (turn === 0) {
      await leases.createTable(session.watch);
      await schemaMigrations.createTable(session.watch);
    }
    const lease = await leases.acquire(session.watch, leaseName, owner, leaseTtlMs);
    if (lease !== null) return runPending(session, migrations, lease, options);
    if (turn === 0) log.warn('another process is migrating the database; waiting for it');
    await delay(pollMs, undefined, { signal: options.signal });
  }
  throw new Failure(
    'retryable',
    `Another process has been migrating the database for ${waitMsMax / 60_000} minutes. ` +
      '`gatewright migrate --status` shows how far it is; try again once it has finished.',
  );
}

async function runPending(
  session: MigrationSession,
  migrations: readonly Migration[],
  lease: leases.Lease,
  options: MigrateOptions,
): Promise<string[]> {
  const { log, leaseTtlMs = leaseTtlMsDefault, heartbeatMs = leaseTtlMs / 6 } = options;
  const beat = setInterval(() => {
    leases.extend(session.watch, lease, leaseTtlMs).catch((error: Error) => {
      log.warn({ error: error.message }, 'the migration lease could not be extended');
    });
  }, heartbeatMs);
  const stopKilling = killOnAbort(session, options);
  try {
    // Loaded here because it takes longer than everything else a command does at its start.
    const { MigrationError, Umzug } = await import('umzug');
    const umzug = new Umzug({
      migrations: migrations.map((migration) => ({
        name: migration.name,
        up: () => runMigration(session.work, lease, migration, options),
      })),
      storage: {
        executed: async () => {
          const rows = await schemaMigrations.listAll(session.work);
          return rows.filter((row) => row.finishedAt !== null).map((row) => row.name);
        },
        // The run itself records its end, under the lease.
        logMigration: async () => {},
        unlogMigration: () => Promise.reject(new Error('migrations only go forward')),
      },
      logger: undefined,
    });
    const ran = await umzug.up().catch((error: unknown) => {
      throw error instanceof MigrationError && error.cause instanceof Error ? error.cause : error;
    });
    return ran.map((migration) => migration.name);
  } finally {
    clearInterval(beat);
    stopKilling();
    await leases.release(session.watch, lease).catch(() => {
      log.warn('the migration lease could not be released; it ends by itself');
    });
  }
}

/**
 * Ends the statement that runs when the signal comes, which may wait for a lock or copy a large table.
 * Said again and again, because it may come when the statement has not yet reached the server.
 */
function killOnAbort({ work, watch }: MigrationSession, options: MigrateOptions): () => void {
  const { signal, log } = options;
  let repeat: NodeJS.Timeout | undefined;
  const kill = (): void => {
    watch.query('KILL QUERY ?', [work.threadId]).catch((error: Error) => {
      log.warn({ error: error.message }, 'the statement that runs could not be ended');
    });
  };
  const start = (): void => {
    kill();
    repeat = setInterval(kill, killAgainMs);
  };
  if (signal?.aborted) start();
  signal?.addEventListener('abort', start);
  return () => {
    signal?.removeEventListener('abort', start);
    clearInterval(repeat);
  };
}

export interface MigrationStatus extends SchemaStatus {
  /** `MariaDB 10.11.19`; null when the database does not exist. */
  readonly databaseVersion: string | null;
}

/** Compares the database with this build; changes nothing. A missing database counts as empty. */
export async function migrationStatus(
  settings: DatabaseSettings,
  options: { readonly directory?: string } = {},
): Promise<MigrationStatus> {
  const migrations = readMigrations(options.directory);
  const connection = await openExisting(settings);
  if (connection === null) return { ...judge(migrations, []), databaseVersion: null };
  try {
    const applied = await schemaMigrations.listAll(connection);
    const databaseVersion = await readVersion(connection);
    return { ...judge(migrations, applied), databaseVersion };
  } finally {
    await close(connection);
  }
}
