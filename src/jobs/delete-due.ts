/** Deletes due rows in small transactions of one organisation each, so that a transaction stays on one shard. */
import type { Db } from '../store/connection/db.ts';
import {
  type AgedTable,
  deleteBefore,
  type GloballyAgedTable,
  listOrganisationsBefore,
} from '../store/rows/old-rows.ts';
import type { JobContext } from './runner/job.ts';

interface DueRows {
  /** Some organisations with due rows; empty when no row is due. */
  readonly listOrganisations: (db: Db) => Promise<readonly string[]>;
  /** Deletes some due rows of an organisation and returns their number. */
  readonly deleteSome: (tx: Db, organisationId: string) => Promise<number>;
}

/** Deletes until no row is due or the job must stop; returns the number of deleted rows. */
export async function deleteDue(
  { db, transaction, signal }: Pick<JobContext, 'db' | 'transaction' | 'signal'>,
  { listOrganisations, deleteSome }: DueRows,
): Promise<number> {
  let deleted = 0;
  while (!signal.aborted) {
    const due = await listOrganisations(db);
    if (due.length === 0) break;
    for (const organisationId of due) {
      deleted += await transaction((tx) => deleteSome(tx, organisationId));
    }
  }
  return deleted;
}

const batchRowsMax = 1000;

/** {@link deleteDue} for the rows of a table that are older than `before`, in milliseconds since the epoch. */
export function deleteOldRows(
  context: Pick<JobContext, 'db' | 'transaction' | 'signal'>,
  aged: AgedTable & GloballyAgedTable,
  before: number,
): Promise<number> {
  return deleteDue(context, {
    listOrganisations: (db) => listOrganisationsBefore(db, aged, before, batchRowsMax),
    deleteSome: (tx, organisationId) =>
      deleteBefore(tx, aged, organisationId, before, batchRowsMax),
  });
}
