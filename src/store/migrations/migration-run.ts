/** Runs one migration statement by statement; records each, and runs none without the lease. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from 'mysql2/promise';
import { Failure } from '../../failure.ts';
import type { Log } from '../../log.ts';
import { isDenied } from '../connection/denied.ts';
import type { MigrationLease } from './leases.ts';
import { changesRowsOnly, checksumOfFirst, type Migration } from './migration-files.ts';
import { errnoOf, grantAdvice } from './migration-session.ts';
import * as schemaMigrations from './schema-migrations.ts';
import type { SqlStatement } from './sql-statements.ts';

const deadlockErrno = 1213;
const lockWaitErrno = 1205;
/** The statement was ended by KILL QUERY. */
const killedErrno = 1317;
const lockTriesMax = 6;
const lockRetryDelayMs = 500;
/**
 * Errors of a definition that exists (or is gone) already: table exists, unknown table, duplicate column,
 * duplicate key name, nothing to drop, duplicate foreign key, duplicate check.
 */
const alreadyDoneErrnos = [1050, 1051, 1060, 1061, 1091, 1826, 3822];

interface RunOptions {
  readonly log: Log;
  readonly signal?: AbortSignal;
  readonly onStep?: (step: { migration: string; number: number; total: number }) => void;
}

/**
 * Continues after the last statement that is recorded as done.
 *
 * @throws Failure; its cause is the reason of the signal when the signal ended the run
 */
export async function runStatements(
  connection: Connection,
  lease: MigrationLease,
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
}

interface StepRun {
  readonly connection: Connection;
  readonly lease: MigrationLease;
  readonly migration: Migration;
  readonly step: schemaMigrations.Step;
  readonly log: Log;
  readonly signal?: AbortSignal;
}

async function takeStep(run: StepRun, isRepeated: boolean): Promise<void> {
  const { connection, lease, migration, step, signal } = run;
  try {
    if (!(await schemaMigrations.startStep(connection, lease, step)))
      throw leaseLost(migration.name);
    await runStep(run, isRepeated);
  } catch (error) {
    throw isAborted(error, signal) ? interrupted(migration, step.number, signal!) : error;
  }
}

/** Whether the abort killed the statement or ended the wait for its retry. */
function isAborted(error: unknown, signal: AbortSignal | undefined): boolean {
  if (signal?.aborted !== true) return false;
  return errnoOf(error) === killedErrno || (error as Error).name === 'AbortError';
}

/**
 * @param isRepeated an earlier runner died while this statement ran, so it may have taken effect. A row
 * change has not, because it shares a transaction with its record. A definition commits by itself: an
 * error that it exists already proves that it has.
 */
async function runStep(run: StepRun, isRepeated: boolean): Promise<void> {
  const statement = run.migration.statements[run.step.number - 1]!;
  for (let tries = 1; ; tries += 1) {
    try {
      if (changesRowsOnly(statement)) await runInTransaction(run, statement);
      else await runDefinition(run, statement, isRepeated);
      return;
    } catch (error) {
      // The step stays open: a definition may have completed when it was killed.
      if (isAborted(error, run.signal)) throw error;
      const errno = errnoOf(error);
      const isBlocked = errno === lockWaitErrno || errno === deadlockErrno;
      if (!isBlocked || tries === lockTriesMax) throw await explain(run, statement, error);
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
  isRepeated: boolean,
): Promise<void> {
  try {
    await run.connection.query(statement.text);
  } catch (error) {
    if (!isRepeated || !alreadyDoneErrnos.includes(errnoOf(error) ?? 0)) throw error;
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
    throw leaseLost(run.migration.name);
  }
}

/** Returns a Failure that names the position and the fix. */
async function explain(run: StepRun, statement: SqlStatement, error: unknown): Promise<Error> {
  if (error instanceof Failure) return error;
  const { path } = run.migration;
  const { number, stepsTotal } = run.step;
  const position = `${path}:${statement.line} (statement ${number} of ${stepsTotal})`;
  const message = error instanceof Error ? error.message : String(error);
  const errno = errnoOf(error);
  if (errno === undefined) {
    if ((error as { fatal?: unknown }).fatal !== true) return error as Error;
    return new Failure(
      'unreachable',
      `The connection to the database broke at ${position}: ${message}. Run it again once the database ` +
        'answers; it continues at this statement.',
      { cause: error },
    );
  }
  await schemaMigrations.refuseStep(run.connection, run.lease, run.step).catch(() => false);
  if (errno === lockWaitErrno || errno === deadlockErrno) {
    return new Failure(
      'retryable',
      `${position} could not get a lock in ${lockTriesMax} attempts. End the long transaction that ` +
        'holds it (SHOW PROCESSLIST) and run it again; it continues at this statement.',
      { cause: error },
    );
  }
  const fix = isDenied(error)
    ? `The database user lacks a right. ${grantAdvice}`
    : 'Run it again once the cause is fixed; it continues at this statement.';
  return new Failure('unexpected', `${position} failed: ${message} (error ${errno}). ${fix}`, {
    cause: error,
  });
}

export function leaseLost(migration: string): Failure {
  return new Failure(
    'retryable',
    `This process did not extend its lease in time at migration ${migration}, so another process may ` +
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
