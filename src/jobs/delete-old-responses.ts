/** Deletes stored responses after their retention, and conversations that were not used during it. */
import type { Settings } from '../settings.ts';
import * as conversations from '../store/objects/conversations.ts';
import * as responses from '../store/objects/responses.ts';
import { listOrganisationsBefore } from '../store/rows/old-rows.ts';
import { deleteDue } from './delete-due.ts';
import { deleteUnused } from './delete-unused.ts';
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
      'Deletes responses that the gateway stores for callers after their retention, and conversations that were not used during it',
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
      const deletedConversations = await deleteUnused(context, before, {
        list: conversations.listUnused,
        delete: (tx, { organisation_id, workspace_id, id }, since) => {
          const key = { organisationId: organisation_id, workspaceId: workspace_id, id };
          return conversations.deleteById(tx, key, since);
        },
      });
      return { deleted, deletedConversations };
    },
  };
}
