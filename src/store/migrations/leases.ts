/** Knows the leases table: who may do a thing now, on the database's own time, fenced by an epoch. */
import type { Connection, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import { retrying } from '../connection/retry.ts';

/** Proof of holding: valid while the row still says this owner and epoch and has not expired. */
export interface Lease {
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
 * Takes the lease when nobody holds it or the holder's time is up; null when somebody does. One
 * conditional UPDATE decides, so of any number of callers at most one wins. `owner` must be unique
 * to the caller.
 */
export async function acquire(
  connection: Connection,
  name: string,
  owner: string,
  ttlMs: number,
): Promise<Lease | null> {
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

/** True when the lease is still ours and now lasts another `ttlMs`. */
export async function extend(
  connection: Connection,
  lease: Lease,
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

/** Lets the next one in at once; changes nothing when the lease is no longer ours. */
export async function release(connection: Connection, lease: Lease): Promise<void> {
  await change(
    connection,
    `UPDATE leases SET expires_at = UTC_TIMESTAMP(6) WHERE ${heldCondition}`,
    heldValues(lease),
  );
}

/** Rows changed. Two nodes of a cluster that took the lease at once both hear of it only here. */
async function change(
  connection: Connection,
  statement: string,
  values: (string | number)[],
): Promise<number> {
  const [result] = await retrying(() => connection.execute<ResultSetHeader>(statement, values));
  return result.affectedRows;
}

/** SQL that is true while `lease` is held, to guard another statement: `WHERE … AND EXISTS (…)`. */
export const heldCondition =
  'name = ? AND owner = ? AND epoch = ? AND expires_at > UTC_TIMESTAMP(6)';

/** Values of the three placeholders of {@link heldCondition}. */
export function heldValues(lease: Lease): [string, string, number] {
  return [lease.name, lease.owner, lease.epoch];
}
