/** Knows how vector stores expire that nobody uses, and how what is in expired and deleted ones goes. */
import * as storeFiles from '../store/objects/vector-store-files.ts';
import * as vectorStores from '../store/objects/vector-stores.ts';
import type { Job, JobContext } from './runner/job.ts';

const storesMax = 100;

export function emptyVectorStores(): Job {
  return {
    name: 'empty-vector-stores',
    cron: '*/10 * * * *',
    summary:
      'Marks vector stores as expired that nobody has used for expires_after, and empties them and deleted ones',
    feature: null,
    idleBecause: null,
    run: async (context) => {
      return { expired: await expire(context), emptied: await empty(context) };
    },
  };
}

async function expire({ db, transaction, now, signal }: JobContext): Promise<number> {
  let expired = 0;
  while (!signal.aborted) {
    const due = await vectorStores.listExpired(db, now, storesMax);
    if (due.length === 0) break;
    for (const place of due) {
      if (await transaction((tx) => vectorStores.markExpired(tx, place, now))) expired += 1;
    }
  }
  return expired;
}

async function empty(context: JobContext): Promise<number> {
  let emptied = 0;
  while (!context.signal.aborted) {
    const due = await vectorStores.listToEmpty(context.db, storesMax);
    if (due.length === 0) break;
    for (const place of due) if (await emptyOne(context, place)) emptied += 1;
  }
  return emptied;
}

/** Whether nothing is left in it. */
async function emptyOne(
  { db, transaction, signal }: JobContext,
  place: vectorStores.VectorStoreKey,
): Promise<boolean> {
  const at = { organisationId: place.organisation_id, vectorStoreId: place.id };
  while (!signal.aborted) {
    // One in a transaction, as it may have 20,000 chunks.
    const [id] = await storeFiles.listSome(db, at, 1);
    if (id === undefined) {
      await transaction((tx) => vectorStores.finishEmptying(tx, place));
      return true;
    }
    await transaction((tx) => storeFiles.deleteById(tx, { ...at, id }));
  }
  return false;
}
