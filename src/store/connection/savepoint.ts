/** Rolls back a part of a transaction. */
import { sql } from 'kysely';
import type { Db } from './db.ts';

/**
 * Runs `work` within a savepoint, and rolls back to it when `work` fails with an error for which `isOwn`
 * is true. Any other error, above all a database error that may have rolled back everything, is thrown
 * without a rollback here.
 */
export async function undoable<T>(
  tx: Db,
  work: () => Promise<T>,
  isOwn: (error: unknown) => boolean,
): Promise<T> {
  await sql`SAVEPOINT part`.execute(tx);
  try {
    return await work();
  } catch (error) {
    if (isOwn(error)) await sql`ROLLBACK TO SAVEPOINT part`.execute(tx);
    throw error;
  }
}
