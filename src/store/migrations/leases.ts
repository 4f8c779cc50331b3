/** Table functions for leases, which expire by the clock of the database and are fenced by an epoch. */
import type { Connection, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import { retrying } from '../connection/retry.ts';

/** Valid while the row has this owner and epoch and has not expired. */
export interface MigrationLease {
  readonly name: string;
  readonly owner: string;
  /** Grows by one with each holder; a statement guarded by an old epoch changes nothing. */
  readonly epoch: number;
}

export async function createTable(connection: Connection): Promise<void> {
  await connection.query(`CREATE TABLE IF NOT EXISTS leases (
    name VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    owner VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    epoch BIGINT UNSIGNED NOT NULL,
    expires_at DATETIME(6) NOT NULL
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`);
}

/**
 * Takes the lease when it is free or expired; null when it is held. One conditional UPDATE decides, so at
 * most one of several callers succeeds. `owner` must be unique to the caller.
 */
export async function acquire(
  connection: Connection,
  name: string,
  owner: string,
  ttlMs: number,
): Promise<MigrationLease | null> {
  await change(
    connection,
    `INSERT IGNORE INTO leases (name, owner, epoch, expires_at) VALUES (?, '', 0, '1970-01-02')`,
    [name],
  );
  const taken = await change(
    connection,
    `UPDATE leases
     SET owner = ?, epoch = epoch + 1, expires_at = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
     WHERE name = ? AND expires_at <= UTC_TIMESTAMP(6)`,
    [owner, ttlMs * 1000, name],
  );
  if (taken === 0) return null;
  const [rows] = await connection.execute<RowDataPacket[]>(
    'SELECT epoch FROM leases WHERE name = ? AND owner = ?',
    [name, owner],
  );
  return rows[0] === undefined ? null : { name, owner, epoch: Number(rows[0].epoch) };
}

/** False when the lease is lost; otherwise it lasts another `ttlMs`. */
export async function extend(
  connection: Connection,
  lease: MigrationLease,
  ttlMs: number,
): Promise<boolean> {
  const extended = await change(
    connection,
    `UPDATE leases SET expires_at = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
     WHERE ${heldCondition}`,
    [ttlMs * 1000, ...heldValues(lease)],
  );
  return extended === 1;
}

/** Frees the lease at once; changes nothing when it is lost. */
export async function release(connection: Connection, lease: MigrationLease): Promise<void> {
  await change(
    connection,
    `UPDATE leases SET expires_at = UTC_TIMESTAMP(6) WHERE ${heldCondition}`,
    heldValues(lease),
  );
}

/** Returns the number of changed rows. Conflicts between nodes of a Galera cluster appear here and are retried. */
async function change(
  connection: Connection,
  statement: string,
  values: (string | number)[],
): Promise<number> {
  const [result] = await retrying(() => connection.execute<ResultSetHeader>(statement, values));
  return result.affectedRows;
}

/** SQL condition that is true while `lease` is held; guards other statements: `WHERE … AND EXISTS (…)`. */
export const heldCondition =
  'name = ? AND owner = ? AND epoch = ? AND expires_at > UTC_TIMESTAMP(6)';

/** Values of the three placeholders of {@link heldCondition}. */
export function heldValues(lease: MigrationLease): [string, string, number] {
  return [lease.name, lease.owner, lease.epoch];
}
