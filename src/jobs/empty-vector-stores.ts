/** Expires unused vector stores, and deletes the contents of expired and deleted ones. */
import * as storeFiles from '../store/objects/vector-store-files.ts';
import * as vectorStores from '../store/objects/vector-stores.ts';
import type { Job, JobContext } from './runner/job.ts';

const storesMax = 100;

export function emptyVectorStores(): Job {
  return {
    name: 'empty-vector-stores',
    cron: '*/10 * * * *',
    summary:
      'Marks vector stores as expired that were not used for expires_after, and empties expired and deleted ones',
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
    for (const key of due) {
      if (await transaction((tx) => vectorStores.markExpired(tx, key, now))) expired += 1;
    }
  }
  return expired;
}

async function empty(context: JobContext): Promise<number> {
  let emptied = 0;
  while (!context.signal.aborted) {
    const due = await vectorStores.listToEmpty(context.db, storesMax);
    if (due.length === 0) break;
    for (const key of due) if (await emptyOne(context, key)) emptied += 1;
  }
  return emptied;
}

/** Returns whether the store is empty now. */
async function emptyOne(
  { db, transaction, signal }: JobContext,
  key: vectorStores.VectorStoreKey,
): Promise<boolean> {
  const store = { organisationId: key.organisation_id, vectorStoreId: key.id };
  while (!signal.aborted) {
    // One file in each transaction, because a file may have 20,000 chunks.
    const [id] = await storeFiles.listSome(db, store, 1);
    if (id === undefined) {
      await transaction((tx) => vectorStores.finishEmptying(tx, key));
      return true;
    }
    await transaction((tx) => storeFiles.deleteById(tx, { ...store, id }));
  }
  return false;
}
