/** Knows how responses are deleted that the gateway has kept for long enough. */
import type { Settings } from '../settings.ts';
import { listOrganisationsBefore } from '../store/rows/old-rows.ts';
import * as responses from '../store/objects/responses.ts';
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
    summary:
      'Deletes responses that the gateway keeps for callers once they are older than is kept',
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
