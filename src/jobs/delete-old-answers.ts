/** Deletes stored responses of idempotent requests after their retention, and expired ones of the semantic cache. */
import { idempotentResponseTtlMs } from '../model/wire/idempotency.ts';
import { deleteBefore, listOrganisationsBefore } from '../store/rows/old-rows.ts';
import { deleteDue } from './delete-due.ts';
import type { Job, JobContext } from './runner/job.ts';

const batchRowsMax = 1000;
const repeatable = { table: 'idempotency_keys', column: 'created_at' } as const;
const semantic = { table: 'semantic_answers', column: 'expires_at' } as const;

export function deleteOldAnswers(): Job {
  return {
    name: 'delete-old-answers',
    cron: '*/10 * * * *',
    summary:
      'Deletes stored responses under an Idempotency-Key after 24 hours, and expired ones of the semantic cache',
    feature: null,
    idleBecause: null,
    run: async (context) => {
      // A key is free again after exactly this time.
      const before = context.now - idempotentResponseTtlMs + 1;
      const deleted = await deleteOlder(context, repeatable, before);
      const deletedSemantic = await deleteOlder(context, semantic, context.now + 1);
      return { deleted, semantic: deletedSemantic };
    },
  };
}

function deleteOlder(
  context: JobContext,
  aged: typeof repeatable | typeof semantic,
  before: number,
): Promise<number> {
  return deleteDue(context, {
    listOrganisations: (db) => listOrganisationsBefore(db, aged, before, batchRowsMax),
    deleteSome: (tx, organisationId) =>
      deleteBefore(tx, aged, organisationId, before, batchRowsMax),
  });
}
