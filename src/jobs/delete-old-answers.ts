/** Deletes stored responses of idempotent requests after their retention, and expired ones of the semantic cache. */
import { idempotentResponseTtlMs } from '../model/wire/idempotency.ts';
import { deleteOldRows } from './delete-due.ts';
import type { Job } from './runner/job.ts';

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
      const deleted = await deleteOldRows(context, repeatable, before);
      const deletedSemantic = await deleteOldRows(context, semantic, context.now + 1);
      return { deleted, semantic: deletedSemantic };
    },
  };
}
