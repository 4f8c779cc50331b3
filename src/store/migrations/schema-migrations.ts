/** Table functions for `schema_migrations`, which records the progress of each migration; only the lease holder writes. */
import type { Connection, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import { heldCondition, heldValues, type MigrationLease } from './leases.ts';

const tableMissingErrno = 1146;

export interface AppliedMigration {
  readonly name: string;
  readonly checksum: string;
  readonly breaking: boolean;
  readonly stepsTotal: number;
  /** Number of leading statements that are recorded as done. */
  readonly stepsDone: number;
  /** Digest of those statements; a resumed run compares it to detect edits. */
  readonly doneChecksum: string;
  /** `stepsDone + 1` while a statement's outcome is unknown, otherwise `stepsDone`. */
  readonly stepStarted: number;
  /** Milliseconds since the epoch by the clock of the database. */
  readonly startedAt: number;
  readonly finishedAt: number | null;
}

const serverNow = `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000`;
const leaseHeld = `EXISTS (SELECT 1 FROM leases AS held WHERE ${heldCondition.replaceAll(
  /\b(name|owner|epoch|expires_at)\b/g,
  'held.$1',
)})`;

export async function createTable(connection: Connection): Promise<void> {
  await connection.query(`CREATE TABLE IF NOT EXISTS schema_migrations (
    name VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    checksum CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    breaking TINYINT NOT NULL,
    steps_total INT UNSIGNED NOT NULL,
    steps_done INT UNSIGNED NOT NULL,
    done_checksum CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    step_started INT UNSIGNED NOT NULL,
    started_at BIGINT NOT NULL,
    finished_at BIGINT NULL
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`);
}

/** All recorded migrations, sorted by name; empty when the table does not exist yet. */
export function listAll(connection: Connection): Promise<AppliedMigration[]> {
  return readAll(async (statement) => (await connection.query<RowDataPacket[]>(statement))[0]);
}

/** Like {@link listAll}, with any function that runs a query. */
export async function readAll(
  query: (statement: string) => Promise<readonly RowDataPacket[]>,
): Promise<AppliedMigration[]> {
  const rows = await query('SELECT * FROM schema_migrations ORDER BY name').catch(
    (error: { errno?: number }) => {
      if (error.errno === tableMissingErrno) return [];
      throw error;
    },
  );
  return rows.map((row) => ({
    name: row.name,
    checksum: row.checksum,
    breaking: row.breaking === 1,
    stepsTotal: row.steps_total,
    stepsDone: row.steps_done,
    doneChecksum: row.done_checksum,
    stepStarted: row.step_started,
    startedAt: Number(row.started_at),
    finishedAt: row.finished_at === null ? null : Number(row.finished_at),
  }));
}

export interface Step {
  readonly migration: string;
  readonly checksum: string;
  readonly breaking: boolean;
  readonly stepsTotal: number;
  /** 1-based. */
  readonly number: number;
  /** Digest of the statements before this one. */
  readonly checksumBefore: string;
}

/**
 * Records that a statement is about to run; false, and nothing written, when the lease is lost. Also
 * updates the checksum of the file, which may have been corrected since it failed.
 */
export async function startStep(
  connection: Connection,
  lease: MigrationLease,
  step: Step,
): Promise<boolean> {
  if (step.number === 1) {
    await connection.execute(
      `INSERT IGNORE INTO schema_migrations
         (name, checksum, breaking, steps_total, steps_done, done_checksum, step_started, started_at)
       SELECT ?, ?, ?, ?, 0, ?, 0, ${serverNow} FROM DUAL WHERE ${leaseHeld}`,
      [
        step.migration,
        step.checksum,
        step.breaking ? 1 : 0,
        step.stepsTotal,
        step.checksumBefore,
        ...heldValues(lease),
      ],
    );
  }
  return update(
    connection,
    lease,
    'step_started = ?, checksum = ?, breaking = ?, steps_total = ?',
    [step.number, step.checksum, step.breaking ? 1 : 0, step.stepsTotal],
    step.migration,
    step.number - 1,
  );
}

/** Records that the statement took effect, in the transaction of the statement if it has one. */
export function finishStep(
  connection: Connection,
  lease: MigrationLease,
  step: Step,
  doneChecksum: string,
): Promise<boolean> {
  return update(
    connection,
    lease,
    'steps_done = ?, done_checksum = ?',
    [step.number, doneChecksum],
    step.migration,
    step.number - 1,
  );
}

/** Records that the server rejected the statement, so that its next run does not count as a repetition. */
export function refuseStep(
  connection: Connection,
  lease: MigrationLease,
  step: Step,
): Promise<boolean> {
  const before = step.number - 1;
  return update(connection, lease, 'step_started = ?', [before], step.migration, before);
}

export function finish(
  connection: Connection,
  lease: MigrationLease,
  migration: string,
  stepsTotal: number,
): Promise<boolean> {
  return update(connection, lease, `finished_at = ${serverNow}`, [], migration, stepsTotal);
}

/** One conditional UPDATE, which succeeds only for the lease holder and from the expected step. */
async function update(
  connection: Connection,
  lease: MigrationLease,
  assignments: string,
  values: readonly (string | number)[],
  migration: string,
  stepsDone: number,
): Promise<boolean> {
  const [result] = await connection.execute<ResultSetHeader>(
    `UPDATE schema_migrations SET ${assignments}
     WHERE name = ? AND steps_done = ? AND ${leaseHeld}`,
    [...values, migration, stepsDone, ...heldValues(lease)],
  );
  return result.affectedRows === 1;
}
