/** Knows how rows that are due are deleted: a few at a time, of one organisation each, so that a transaction stays on one shard. */
import type { Db } from '../store/connection/db.ts';
import type { JobContext } from './runner/job.ts';

interface Due {
  /** Some of the organisations in which anything is due; none where nothing is. */
  readonly listOrganisations: (db: Db) => Promise<readonly string[]>;
  /** Some of what is due in one of them; yields how many rows those were. */
  readonly deleteSome: (tx: Db, organisationId: string) => Promise<number>;
}

/** Until nothing is due any more, or the job is to end; yields how many rows were deleted. */
export async function deleteDue(
  { db, transaction, signal }: Pick<JobContext, 'db' | 'transaction' | 'signal'>,
  { listOrganisations, deleteSome }: Due,
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
