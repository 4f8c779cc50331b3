/** Deletes stored responses after their retention. */
import type { Settings } from '../settings.ts';
import * as responses from '../store/objects/responses.ts';
import { listOrganisationsBefore } from '../store/rows/old-rows.ts';
import { deleteDue } from './delete-due.ts';
import type { Job } from './runner/job.ts';

/** Rows may be large. */
const batchRowsMax = 100;
const dayMs = 86_400_000;

export function deleteOldResponses({
  responseDays,
}: Pick<Settings['inference']['retention'], 'responseDays'>): Job {
  return {
    name: 'delete-old-responses',
    cron: '27 * * * *',
    summary: 'Deletes responses that the gateway stores for callers after their retention',
    feature: null,
    idleBecause: null,
    run: async (context) => {
      const before = context.now - responseDays * dayMs;
      const deleted = await deleteDue(context, {
        listOrganisations: (db) =>
          listOrganisationsBefore(db, responses.aged, before, batchRowsMax),
        deleteSome: (tx, organisationId) =>
          responses.deleteOld(tx, organisationId, before, batchRowsMax),
      });
      return { deleted };
    },
  };
}
