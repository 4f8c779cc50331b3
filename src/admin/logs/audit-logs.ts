/** HTTP route for the audit log (docs/reference/access.md, Audit): pages of changes, newest first. */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import {
  AuditLogPage,
  methodOfAction,
  toAuditEvent,
  toAuditRecord,
} from '../../model/logs/audit-log.ts';
import { wholeNumberParameter } from '../../model/wire/paging.ts';
import { RangeEnd, RangeStart } from '../../model/wire/timestamp.ts';
import * as auditLog from '../../store/logs/audit-log.ts';
import { listNumbered } from '../../store/logs/audit-pages.ts';
import { type AdminDeps, everyMount } from '../request/deps.ts';
import { type QueryRequest, WorkspaceQuery } from '../request/frame-fields.ts';
import { requireOwnOrganisation, resolveWorkspace } from '../request/scoping.ts';
import { parseTimeRangeFields } from './analytics/time-range.ts';
import { cursorOf, parseCursor } from './cursor.ts';

const daysMax = 366;
const daysUsual = 31;
const pageSizeDefault = 50;
const pageSizeMax = 100;
/** Clients that need more pages use cursors. */
const currentPageMax = 1_000;
const text = z.string().min(1).max(255).optional();

const AuditLogsQuery = WorkspaceQuery.extend({
  start_time: RangeStart.optional(),
  end_time: RangeEnd.optional(),
  organisation_id: z.string().max(64).optional(),
  user_id: text,
  user_type: text,
  actor_id: text,
  action: text,
  method: z.enum(['GET', 'POST', 'PUT', 'DELETE']).optional(),
  resource_type: text,
  resource_id: text,
  request_id: text,
  page_size: wholeNumberParameter(1, pageSizeMax).default(pageSizeDefault),
  current_page: wholeNumberParameter(0, currentPageMax).default(0),
  cursor: z.string().max(64).optional(),
});

export function auditLogRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      mounts: everyMount,
      method: 'GET',
      path: '/audit-logs',
      scope: 'audit_logs.list',
      features: ['auditLogs'],
      summary: 'List changes with their author and time',
      query: AuditLogsQuery,
      response: AuditLogPage,
      handle: (request) => list(deps, request),
    }),
  ];
}

async function list(
  { database }: AdminDeps,
  { caller, query, now }: QueryRequest<z.infer<typeof AuditLogsQuery>>,
) {
  const db = database.readable;
  requireOwnOrganisation(caller, query.organisation_id);
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const { resource_type, resource_id, request_id, user_id, user_type, page_size } = query;
  const before = parseCursor(query.cursor);
  const { start_time: min, end_time: max } = query;
  const filter = {
    ...parseTimeRangeFields({ min, max }, now, { daysMax, daysUsual, path: 'start_time' }),
    isOpen: max === undefined,
    actions: actionsOf(query),
    equal: {
      workspace_id: workspace?.id,
      resource_kind: resource_type,
      resource_id,
      request_id,
      actor_id: user_id ?? query.actor_id,
      actor_kind: user_type?.replaceAll('_', '-'),
    },
  };
  const first = { limit: page_size + 1, offset: 0 };
  const numbered = { ...first, offset: query.current_page * page_size };
  const rows =
    before === null
      ? await listNumbered(db, caller.organisationId, filter, numbered, now)
      : await auditLog.list(db, caller.organisationId, { ...filter, before }, first);
  const records = rows.slice(0, page_size);
  const last = rows.length > page_size ? records.at(-1) : undefined;
  return {
    object: 'list' as const,
    records: records.map(toAuditRecord),
    data: records.map(toAuditEvent),
    current_page: query.current_page,
    page_size,
    next_cursor: last === undefined ? null : cursorOf(last.at, last.id),
  };
}

/** Null for all actions. */
function actionsOf({ action, method }: z.infer<typeof AuditLogsQuery>): string[] | null {
  if (method === undefined) return action === undefined ? null : [action];
  const ofMethod = Object.keys(methodOfAction).filter((one) => methodOfAction[one] === method);
  return action === undefined ? ofMethod : [ofMethod.includes(action) ? action : ''];
}
