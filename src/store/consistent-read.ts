/** Knows how several tables are read as of one moment. */
import type { Db } from './connection/db.ts';
import { retrying } from './connection/retry.ts';

/**
 * Runs `read` in one read-only REPEATABLE READ transaction: its first query fixes the moment, and
 * the others see the database as it was then, whatever is written meanwhile. A migration meanwhile has
 * `read` run again, as of another moment.
 */
export function readConsistently<T>(db: Db, read: (tx: Db) => Promise<T>): Promise<T> {
  const transaction = db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only');
  return retrying(() => transaction.execute(read));
}
