/** Deletes objects one by one that were not used since a time. */
import type { Db } from '../store/connection/db.ts';
import type { JobContext } from './runner/job.ts';

const listedMax = 100;

interface UnusedObjects<Key> {
  /** Lists up to `limit` objects that were not used since the time. */
  readonly list: (db: Db, since: number, limit: number) => Promise<readonly Key[]>;
  /** Deletes the object unless it was used meanwhile. Returns whether it was deleted. */
  readonly delete: (tx: Db, key: Key, since: number) => Promise<boolean>;
}

/** Returns the number of deleted objects. */
export async function deleteUnused<Key>(
  { db, transaction, signal }: Pick<JobContext, 'db' | 'transaction' | 'signal'>,
  since: number,
  objects: UnusedObjects<Key>,
): Promise<number> {
  let deleted = 0;
  while (!signal.aborted) {
    const due = await objects.list(db, since, listedMax);
    if (due.length === 0) break;
    for (const key of due) {
      if (signal.aborted) break;
      if (await transaction((tx) => objects.delete(tx, key, since))) deleted += 1;
    }
  }
  return deleted;
}
