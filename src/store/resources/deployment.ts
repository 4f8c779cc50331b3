/** Table functions for deployment: facts of this installation. */
import type { Db } from '../connection/db.ts';

declare module '../connection/db.ts' {
  interface Tables {
    deployment: { name: string; value: string };
  }
}

const writeCheck = 'write-check';

/** Writes an unused row; resolves when the database accepts writes. `now` in milliseconds since the epoch. */
export async function tryWrite(db: Db, now: number): Promise<void> {
  const value = String(now);
  await db
    .insertInto('deployment')
    .values({ name: writeCheck, value })
    .onDuplicateKeyUpdate({ value })
    .execute();
}
