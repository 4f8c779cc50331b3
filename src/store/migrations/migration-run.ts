/** Knows how one migration runs: statement by statement, each recorded, none without the lease. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from 'mysql2/promise';
import { Failure } from '../../failure.ts';
import type { Log } from '../../log.ts';
import { isDenied } from '../connection/denied.ts';
import type { Lease } from './leases.ts';
import { changesRowsOnly, checksumOfFirst, type Migration } from './migration-files.ts';
import { errnoOf, grantAdvice } from './migration-session.ts';
import * as schemaMigrations from './schema-migrations.ts';
import type { SqlStatement } from './sql-statements.ts';

const deadlockErrno = 1213;
const lockWaitErrno = 1205;
/** KILL QUERY was said to the connection. */
const killedErrno = 1317;
const lockTriesMax = 6;
const lockRetryDelayMs = 500;
/**
 * What the server says when a definition is there (or gone) already: table exists, unknown table,
 * duplicate column, duplicate key name, nothing to drop, duplicate foreign key, duplicate check.
 */
const alreadyDoneErrnos = [1050, 1051, 1060, 1061, 1091, 1826, 3822];

interface RunOptions {
  readonly log: Log;
  readonly signal?: AbortSignal;
  readonly onStep?: (step: { migration: string; number: number; total: number }) => void;
}

/**
 * Continues behind the last statement known to have run. Throws `Failure` whose cause is the reason of
 * the signal when that has ended it.
 */
export async function runMigration(
  connection: Connection,
  lease: Lease,
  migration: Migration,
  options: RunOptions,
): Promise<void> {
  const rows = await schemaMigrations.listAll(connection);
  const row = rows.find(({ name }) => name === migration.name);
  const total = migration.statements.length;
  for (let number = (row?.stepsDone ?? 0) + 1; number <= total; number += 1) {
    if (options.signal?.aborted === true) throw interrupted(migration, number, options.signal);
    options.onStep?.({ migration: migration.name, number, total });
    const step = {
      migration: migration.name,
      checksum: migration.checksum,
      breaking: migration.breaking,
      stepsTotal: total,
      number,
      checksumBefore: checksumOfFirst(migration, number - 1),
    };
    const run = { connection, lease, migration, step, ...options };
    await takeStep(run, row?.stepStarted === number);
  }
  if (!(await schemaMigrations.finish(connection, lease, migration.name, total))) {
    throw leaseLost(migration);
  }
  options.log.info({ migration: migration.name }, 'migration applied');
}

interface StepRun {
  readonly connection: Connection;
  readonly lease: Lease;
  readonly migration: Migration;
  readonly step: schemaMigrations.Step;
  readonly log: Log;
  readonly signal?: AbortSignal;
}

async function takeStep(run: StepRun, repeated: boolean): Promise<void> {
  const { connection, lease, migration, step, signal } = run;
  try {
    if (!(await schemaMigrations.startStep(connection, lease, step))) throw leaseLost(migration);
    await runStep(run, repeated);
  } catch (error) {
    throw isStopped(error, signal) ? interrupted(migration, step.number, signal!) : error;
  }
}

/** Whatever ran when the signal came has been killed, or the wait for its next try was ended. */
function isStopped(error: unknown, signal: AbortSignal | undefined): boolean {
  if (signal?.aborted !== true) return false;
  return errnoOf(error) === killedErrno || (error as Error).name === 'AbortError';
}

/**
 * `repeated`: an earlier runner died while this statement ran, so that it may have taken effect. A
 * row change and its record share a transaction, so it has not; a definition change commits by
 * itself, and then the server's "is there already" is the answer that it has.
 */
async function runStep(run: StepRun, repeated: boolean): Promise<void> {
  const statement = run.migration.statements[run.step.number - 1]!;
  for (let tries = 1; ; tries += 1) {
    try {
      if (changesRowsOnly(statement)) await runInTransaction(run, statement);
      else await runDefinition(run, statement, repeated);
      return;
    } catch (error) {
      // Not told to be without effect: a definition may have been through when it was killed.
      if (isStopped(error, run.signal)) throw error;
      const errno = errnoOf(error);
      const blocked = errno === lockWaitErrno || errno === deadlockErrno;
      if (!blocked || tries === lockTriesMax) throw await explain(run, statement, error);
      run.log.warn({ migration: run.migration.name, statement: run.step.number, tries }, 'blocked');
      await delay(lockRetryDelayMs, undefined, { signal: run.signal });
    }
  }
}

async function runInTransaction(run: StepRun, statement: SqlStatement): Promise<void> {
  await run.connection.beginTransaction();
  try {
    await run.connection.query(statement.text);
    await finishStep(run);
    await run.connection.commit();
  } catch (error) {
    await run.connection.rollback().catch(() => run.connection.destroy());
    throw error;
  }
}

async function runDefinition(
  run: StepRun,
  statement: SqlStatement,
  repeated: boolean,
): Promise<void> {
  try {
    await run.connection.query(statement.text);
  } catch (error) {
    if (!repeated || !alreadyDoneErrnos.includes(errnoOf(error) ?? 0)) throw error;
    run.log.warn(
      { migration: run.migration.name, statement: run.step.number },
      'the statement had taken effect before its runner died',
    );
  }
  await finishStep(run);
}

async function finishStep(run: StepRun): Promise<void> {
  const doneChecksum = checksumOfFirst(run.migration, run.step.number);
  if (!(await schemaMigrations.finishStep(run.connection, run.lease, run.step, doneChecksum))) {
    throw leaseLost(run.migration);
  }
}

/** Turns what the server or the connection said into a Failure that names the place and the fix. */
async function explain(run: StepRun, statement: SqlStatement, error: unknown): Promise<Error> {
  if (error instanceof Failure) return error;
  const { path } = run.migration;
  const { number, stepsTotal } = run.step;
  const place = `${path}:${statement.line} (statement ${number} of ${stepsTotal})`;
  const said = error instanceof Error ? error.message : String(error);
  const errno = errnoOf(error);
  if (errno === undefined) {
    if ((error as { fatal?: unknown }).fatal !== true) return error as Error;
    return new Failure(
      'unreachable',
      `The connection to the database broke at ${place}: ${said}. Run it again once the database ` +
        'answers; it continues at this statement.',
      { cause: error },
    );
  }
  await schemaMigrations.refuseStep(run.connection, run.lease, run.step).catch(() => false);
  if (errno === lockWaitErrno || errno === deadlockErrno) {
    return new Failure(
      'retryable',
      `${place} waited in vain for a lock, ${lockTriesMax} times. End the long transaction that ` +
        'holds it (SHOW PROCESSLIST) and run it again; it continues at this statement.',
      { cause: error },
    );
  }
  const fix = isDenied(error)
    ? `The database user lacks a right. ${grantAdvice}`
    : 'Run it again once the cause is gone; it continues at this statement.';
  return new Failure('unexpected', `${place} failed: ${said} (error ${errno}). ${fix}`, {
    cause: error,
  });
}

function leaseLost(migration: Migration): Failure {
  return new Failure(
    'retryable',
    `This process gave no sign of life for too long at migration ${migration.name}, so another may ` +
      'have taken over. Run it again; it continues where that one is.',
  );
}

function interrupted(migration: Migration, next: number, signal: AbortSignal): Failure {
  return new Failure(
    'retryable',
    `Stopped before statement ${next} of ${migration.path}. Run it again; it continues there.`,
    { cause: signal.reason },
  );
}
