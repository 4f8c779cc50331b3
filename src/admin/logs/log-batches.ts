/** HTTP route by which a live log learns which times have new rows (docs/reference/analytics.md, Following the log). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { idFromBytes } from '../../model/wire/ids.ts';
import { wholeNumberParameter } from '../../model/wire/paging.ts';
import { formatTimestamp, ResponseTimestamp, Timestamp } from '../../model/wire/timestamp.ts';
import * as logBatches from '../../store/logs/log-batches.ts';
import { requireRight } from '../access/visibility.ts';
import { type AdminDeps, everyMount } from '../request/deps.ts';
import { type QueryRequest, WorkspaceQuery } from '../request/frame-fields.ts';
import { resolveWorkspace } from '../request/scoping.ts';

const pageSizeMax = 1000;

const BatchesQuery = WorkspaceQuery.extend({
  since: Timestamp.optional().describe(
    'Only batches that were stored since this time; without it, those of the last minute.',
  ),
  page_size: wholeNumberParameter(1, pageSizeMax).default(pageSizeMax),
});

const LogBatch = z.object({
  object: z.literal('log_batch'),
  id: z.uuid(),
  stored_at: ResponseTimestamp.describe('When the rows were stored, by the clock of the database.'),
  first_ended_at: ResponseTimestamp.describe('Least `ended_at` of the rows.'),
  last_ended_at: ResponseTimestamp.describe('Greatest `ended_at` of the rows.'),
});

const LogBatches = z.object({
  object: z.literal('list'),
  data: z.array(LogBatch),
  has_more: z.boolean(),
});

export function logBatchRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      mounts: { v1: everyMount.v1, admin: everyMount.admin },
      method: 'GET',
      path: '/logs/batches',
      scope: 'logs.list',
      summary: 'List when rows of the log were stored, and which times they are of',
      query: BatchesQuery,
      response: LogBatches,
      handle: (request) => list(deps, request),
    }),
  ];
}

/** Batches have rows of all workspaces of the organisation, and tell nothing but times of them. */
async function list(
  { database }: AdminDeps,
  { caller, query }: QueryRequest<z.infer<typeof BatchesQuery>>,
): Promise<z.infer<typeof LogBatches>> {
  const db = database.readable;
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  await requireRight(db, caller, workspace, 'ViewLogs');
  const since = query.since === undefined ? null : Date.parse(query.since);
  const { organisationId } = caller;
  const rows = await logBatches.listSince(db, organisationId, since, query.page_size + 1);
  const page = rows.slice(0, query.page_size);
  return {
    object: 'list',
    data: page.map((row) => ({
      object: 'log_batch',
      id: idFromBytes(row.id),
      stored_at: formatTimestamp(row.stored_at),
      first_ended_at: formatTimestamp(row.first_ended_at),
      last_ended_at: formatTimestamp(row.last_ended_at),
    })),
    has_more: rows.length > page.length,
  };
}
