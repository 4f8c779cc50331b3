/**
 * HTTP routes for the request log (docs/reference/analytics.md, Logs and analytics): pages, newest first,
 * and single rows.
 */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import {
  guardrailVerdicts,
  loggedTypes,
  RequestLogPage,
  RequestLogRecord,
  startOfTotalsStep,
} from '../../model/logs/request-log.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { idToBytes } from '../../model/wire/ids.ts';
import { wholeNumberParameter } from '../../model/wire/paging.ts';
import * as requestLogs from '../../store/logs/request-logs.ts';
import * as loggedRegions from '../../store/regions/logged-regions.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import { requireRight, visibleKeys } from '../access/visibility.ts';
import { type AdminDeps, everyMount } from '../request/deps.ts';
import { type ItemRequest, type QueryRequest, WorkspaceQuery } from '../request/frame-fields.ts';
import { findIn, idOr404, resolveWorkspace } from '../request/scoping.ts';
import { guardrailIdsOf } from './analytics/request-filter.ts';
import { parseTimeRange, rangeQuery } from './analytics/time-range.ts';
import { cursorOf, parseCursor } from './cursor.ts';
import { requestLogToRecord } from './request-log-record.ts';
import { feedbackOf } from './row-feedback.ts';
import { findRowNames } from './row-names.ts';

const daysMax = 31;
const pageSizeDefault = 50;
const pageSizeMax = 100;
const text = z.string().min(1).max(255).optional();

const LogsQuery = WorkspaceQuery.extend({
  ...rangeQuery,
  api_key_id: z.uuid().optional(),
  config_id: text,
  type: z.enum(loggedTypes).optional(),
  provider: text,
  model: text,
  mcp_server: text,
  mcp_name: text,
  trace_id: z.string().min(1).max(128).optional(),
  guardrail: text.describe('Guardrail that judged, by slug or id.'),
  guardrail_verdict: z.enum(guardrailVerdicts).optional(),
  status: z
    .string()
    .regex(/^[1-9](?:\d\d|xx)$/, 'must be a status such as 429, or a class such as 4xx')
    .optional(),
  page_size: wholeNumberParameter(1, pageSizeMax).default(pageSizeDefault),
  cursor: z.string().max(64).optional(),
});

export function requestLogRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      mounts: { v1: everyMount.v1, admin: everyMount.admin },
      method: 'GET',
      path: '/logs',
      scope: 'logs.list',
      summary: 'List model requests and MCP calls',
      query: LogsQuery,
      response: RequestLogPage,
      handle: (request) => list(deps, request),
    }),
    route({
      mounts: everyMount,
      method: 'GET',
      path: '/logs/:logId',
      scope: 'logs.view',
      summary: 'Get a model request or an MCP call',
      query: WorkspaceQuery,
      response: RequestLogRecord,
      handle: (request) => get(deps, request),
    }),
  ];
}

async function list(
  { database }: AdminDeps,
  { caller, query, now }: QueryRequest<z.infer<typeof LogsQuery>>,
) {
  const db = database.readable;
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  await requireRight(db, caller, workspace, 'ViewLogs');
  const apiKeyIds = await visibleKeys(db, caller, workspace);
  const { api_key_id, config_id, provider, model, mcp_server, mcp_name, page_size } = query;
  const { trace_id, guardrail, guardrail_verdict: verdict, type } = query;
  const [statusFrom, statusTo] = statusesOf(query.status);
  const place = parseCursor(query.cursor);
  const filter: requestLogs.RequestLogFilter = {
    ...parseTimeRange(query, now, daysMax),
    statusFrom,
    statusTo,
    type,
    apiKeyIds,
    before: place === null ? null : { ended_at: place.at, id: place.id },
    equal: {
      workspace_id: workspace?.id,
      api_key_id: api_key_id?.toLowerCase(),
      config_id,
      provider,
      model,
      mcp_server,
      mcp_name,
      trace_id,
      guardrail_verdict: guardrail === undefined ? verdict : undefined,
    },
    guardrails:
      guardrail === undefined
        ? undefined
        : { ids: await guardrailIdsOf(db, caller.organisationId, [guardrail]), verdict },
  };
  const rows = await requestLogs.list(db, caller.organisationId, filter, page_size + 1);
  const page = rows.slice(0, page_size);
  const last = rows.length > page_size ? page.at(-1) : undefined;
  const feedbackOfRow = await feedbackOf(db, page);
  const namesOfRow = await findRowNames(db, page);
  return {
    object: 'list' as const,
    data: page.map((row) => requestLogToRecord(row, feedbackOfRow(row), namesOfRow(row))),
    next_cursor: last === undefined ? null : cursorOf(last.ended_at, last.id),
    regions: await loggedRegions.listSince(
      db,
      caller.organisationId,
      startOfTotalsStep(filter.from),
    ),
  };
}

/** A request that the caller may not see is not found. */
async function get({ database }: AdminDeps, { caller, params, query }: ItemRequest) {
  const db = database.readable;
  const id = idToBytes(idOr404(params.logId!));
  const finding = requestLogs.findById(db, caller.organisationId, id);
  const row = await findIn(db, caller, query.workspace_id, finding);
  const place =
    row.workspace_id === null
      ? null
      : ((await workspaces.findByIdOrSlug(db, caller.organisationId, row.workspace_id)) ?? null);
  await requireRight(db, caller, place, 'ViewLogs');
  const apiKeyIds = await visibleKeys(db, caller, place);
  if (apiKeyIds !== null && !apiKeyIds.some((one) => one === row.api_key_id)) {
    throw new ApiError('notFound');
  }
  const feedbackOfRow = await feedbackOf(db, [row]);
  const namesOfRow = await findRowNames(db, [row]);
  return requestLogToRecord(row, feedbackOfRow(row), namesOfRow(row));
}

function statusesOf(status: string | undefined): [number, number] {
  if (status === undefined) return [0, requestLogs.statusMax];
  if (!status.endsWith('xx')) return [Number(status), Number(status)];
  const first = Number(status[0]) * 100;
  return [first, first + 99];
}
