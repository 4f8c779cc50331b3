/** HTTP routes for exports of the request log (docs/reference/analytics.md, Log exports). */
import { z } from 'zod';
import type { Principal } from '../../../auth/principal.ts';
import { type Route, route } from '../../../http/routes/route.ts';
import {
  ExportFields,
  ExportSettings,
  exportStatuses,
  LogExportCreate,
  LogExportUpdate,
} from '../../../model/logs/log-export.ts';
import { listReply, listSchema, pageQuery, toPage } from '../../../model/wire/paging.ts';
import * as logExports from '../../../store/logs/log-exports.ts';
import { type AdminDeps, type AdminRequest, everyMount } from '../../request/deps.ts';
import {
  type QueryRequest,
  updateBodyMeta,
  updateFields,
  WorkspaceQuery,
} from '../../request/frame-fields.ts';
import { idOr404, resolveWorkspace } from '../../request/scoping.ts';
import { withVersionTag } from '../../request/version.ts';
import { exportableKeys, requireVisibleExport } from './export-access.ts';
import { deniedFields } from './export-restrictions.ts';
import {
  archiveLogExport,
  cancelLogExport,
  createLogExport,
  startLogExport,
  updateLogExport,
} from './log-export-changes.ts';
import { download } from './log-export-link.ts';
import {
  LogExportItem,
  LogExportRecord,
  logExportToItem,
  logExportToRecord,
} from './log-export-record.ts';

const { workspace_id } = updateFields;
const ListQuery = WorkspaceQuery.extend({
  status: z.enum(exportStatuses).exclude(['archived']).optional(),
  ...pageQuery(),
});
const Receipt = z.object({
  id: z.uuid(),
  total: z.int().min(0).optional(),
  object: z.literal('export'),
});
const Done = z.object({ message: z.string(), object: z.literal('export') });
const Restrictions = z.object({
  object: z.literal('export-field-restrictions'),
  workspace_id: z.string(),
  deniedFields: ExportFields,
  export_settings: ExportSettings,
});

const shared = { mounts: everyMount, scope: 'logs.export', features: ['dataExports'] } as const;
const all = { ...shared, path: '/logs/exports' } as const;
const one = { ...shared, path: '/logs/exports/:exportId' } as const;

export function logExportRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      ...shared,
      method: 'GET',
      path: '/logs/exports/field-restrictions',
      summary: 'Get the fields that exports must not contain',
      query: WorkspaceQuery,
      response: Restrictions,
      handle: (request) => restrictions(deps, request),
    }),
    route({
      ...all,
      method: 'POST',
      summary: 'Create an export of the request log; start it with a separate request',
      body: LogExportCreate.extend({ workspace_id }),
      response: Receipt,
      handle: (request) => createLogExport(deps, request),
    }),
    route({
      ...all,
      method: 'GET',
      summary: 'List exports',
      query: ListQuery,
      response: listSchema(LogExportItem),
      handle: (request) => list(deps, request),
    }),
    ...itemRoutes(deps),
    ...orderRoutes(deps),
  ];
}

function itemRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      ...one,
      method: 'GET',
      summary: 'Get an export',
      response: LogExportRecord,
      handle: (request) => get(deps, request),
    }),
    route({
      ...one,
      method: 'PUT',
      versioned: true,
      summary: 'Update an export that was not started yet; fields that are not sent stay',
      body: LogExportUpdate.extend({ workspace_id }).meta(updateBodyMeta),
      response: Receipt,
      refusals: ['conflict'],
      handle: (request) => updateLogExport(deps, request),
    }),
    route({
      ...one,
      method: 'DELETE',
      versioned: true,
      summary: 'Archive an export that is not in progress, and delete its file',
      response: z.object({}),
      refusals: ['conflict'],
      handle: (request) => archiveLogExport(deps, request),
    }),
  ];
}

function orderRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      ...shared,
      method: 'POST',
      path: '/logs/exports/:exportId/start',
      summary: 'Start an export, or resume one that ended early',
      response: Done,
      handle: (request) => startLogExport(deps, request),
    }),
    route({
      ...shared,
      method: 'POST',
      path: '/logs/exports/:exportId/cancel',
      summary: 'Cancel an export',
      response: Done,
      handle: (request) => cancelLogExport(deps, request),
    }),
    route({
      ...shared,
      method: 'GET',
      path: '/logs/exports/:exportId/download',
      summary: 'Get a link to the file of an export, valid for 15 minutes',
      response: z.object({ signed_url: z.url() }),
      refusals: ['conflict'],
      handle: (request) => download(deps, request),
    }),
  ];
}

async function restrictions(
  { database }: AdminDeps,
  { caller, query }: QueryRequest<z.infer<typeof WorkspaceQuery>>,
) {
  const db = database.readable;
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const denied = await deniedFields(db, caller, workspace === null ? null : [workspace.id]);
  return {
    object: 'export-field-restrictions' as const,
    workspace_id: workspace?.id ?? '',
    deniedFields: denied,
    export_settings: { deniedFields: denied },
  };
}

async function list(
  { database }: AdminDeps,
  { caller, query }: QueryRequest<z.infer<typeof ListQuery>>,
) {
  const db = database.readable;
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const ofKeys = await exportableKeys(db, caller, workspace);
  const filter = { workspaceId: workspace?.id, status: query.status, ofKeys };
  const page = toPage(query);
  const { rows, total } = await logExports.list(db, caller.organisationId, filter, page);
  return listReply(rows.map(logExportToItem), total);
}

async function get({ database }: AdminDeps, { caller, params }: AdminRequest) {
  const id = idOr404(params.exportId!);
  const stored = await logExports.find(database.readable, caller.organisationId, id);
  const row = await requireVisibleExport(database.readable, caller, stored);
  return withVersionTag(logExportToRecord(row), row);
}
