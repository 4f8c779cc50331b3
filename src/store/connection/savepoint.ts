/** Knows how a part of a transaction is undone and the rest of it kept. */
import { sql } from 'kysely';
import type { Db } from './db.ts';

/**
 * Runs `work` as a part of the transaction, and undoes it alone where it fails in a way that `isOwn`
 * says. Any other failure, above all one of the database, which may have undone everything already, is
 * for the whole.
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
