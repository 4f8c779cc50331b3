/** Reads several tables from one consistent snapshot. */
import type { Db } from './connection/db.ts';
import { retrying } from './connection/retry.ts';

/**
 * Runs `read` in one read-only REPEATABLE READ transaction: all queries see the state at the first one,
 * regardless of concurrent writes. A concurrent migration makes `read` run again.
 */
export function readConsistently<T>(db: Db, read: (tx: Db) => Promise<T>): Promise<T> {
  const transaction = db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only');
  return retrying(() => transaction.execute(read));
}
