/**
 * Creates, updates, starts, cancels and archives log exports, each in one transaction with its audit row.
 */

import { matchesMetadata } from '../../../model/logs/exported-log.ts';
import {
  type ExportFilters,
  type ExportSelection,
  type ExportStatus,
  type LogExportCreate,
  type LogExportUpdate,
  mergeFilters,
} from '../../../model/logs/log-export.ts';
import { ApiError } from '../../../model/wire/errors.ts';
import { newId } from '../../../model/wire/ids.ts';
import { rewriteDocument } from '../../../model/wire/json-record.ts';
import type { Db } from '../../../store/connection/db.ts';
import * as exportedLogs from '../../../store/logs/exported-logs.ts';
import * as logExports from '../../../store/logs/log-exports.ts';
import * as workspaces from '../../../store/resources/workspaces.ts';
import { auditChange } from '../../request/change.ts';
import type { AdminDeps, AdminRequest } from '../../request/deps.ts';
import { type BodyRequest, namesOfSentFields, requireUpdate } from '../../request/frame-fields.ts';
import { idOr404, requireWorkspace, resolveWorkspace } from '../../request/scoping.ts';
import { requireVersion } from '../../request/version.ts';
import { requireVisibleExport } from './export-access.ts';
import { deniedFields, fieldsOf } from './export-restrictions.ts';
import { selectRequests } from './export-selection.ts';

type ExportRow = logExports.StoredLogExport;
type ExportFields = { readonly workspace_id?: string | null | undefined };

/** Counting stops here, because counting more rows would delay the response. */
const countedMax = 10_000;

/** Rows whose metadata is read for a count, in total and at a time. */
const readMax = 1_000;
const readAtOnce = 200;

export async function createLogExport(
  deps: AdminDeps,
  request: BodyRequest<LogExportCreate & ExportFields>,
) {
  const { body, caller, now } = request;
  const { organisationId } = caller;
  return deps.database.transaction(async (tx) => {
    const workspace = await resolveWorkspace(tx, caller, body.workspace_id);
    const selection = await selectRequests(tx, caller, workspace, body.filters);
    const denied = await deniedFields(tx, caller, selection.workspaceIds);
    const row: ExportRow = {
      organisation_id: organisationId,
      id: newId(),
      workspace_id: workspace?.id ?? null,
      status: 'draft',
      description: body.description ?? '',
      filters: JSON.stringify(body.filters),
      selection: JSON.stringify(selection),
      requested_data: JSON.stringify(fieldsOf(body.requested_data, denied)),
      after_at: null,
      after_id: null,
      until_at: null,
      records: 0,
      bytes: 0,
      parts: 0,
      created_by: caller.id,
      version: 1,
      created_at: now,
      last_updated_at: now,
      started_at: null,
      finished_at: null,
    };
    await logExports.insert(tx, row);
    await audit(tx, deps, request, 'create', row, { fields: namesOfSentFields(body) });
    return receipt(tx, row, body.filters, selection);
  });
}

/** For drafts only, because a started export keeps its settings. */
export async function updateLogExport(
  deps: AdminDeps,
  request: BodyRequest<LogExportUpdate & ExportFields>,
) {
  const { body, caller, now } = request;
  requireUpdate(body);
  return deps.database.transaction(async (tx) => {
    const row = await lockRow(tx, request);
    await requireWorkspace(tx, caller, row, body.workspace_id);
    requireStatus(row, ['draft'], 'was started already: create another one');
    const filters = mergeFilters(JSON.parse(row.filters), body.filters ?? {});
    const workspace = await workspaceOf(tx, row);
    const selection = await selectRequests(tx, caller, workspace, filters);
    const denied = await deniedFields(tx, caller, selection.workspaceIds);
    const stored = JSON.parse(row.requested_data) as LogExportUpdate['requested_data'];
    const columns: Partial<ExportRow> = {
      filters: rewriteDocument(row.filters, filters),
      selection: JSON.stringify(selection),
      requested_data: JSON.stringify(fieldsOf(body.requested_data ?? stored, denied)),
      description: body.description ?? row.description,
    };
    const names = Object.keys(columns) as (keyof ExportRow)[];
    const fields = names.filter((name) => columns[name] !== row[name]);
    if (fields.length > 0) {
      await logExports.update(tx, row, { ...columns, last_updated_at: now });
      await audit(tx, deps, request, 'update', row, { fields });
    }
    return receipt(tx, row, filters, selection);
  });
}

/** Exports requests up to now. A cancelled or failed export continues where it stopped. */
export async function startLogExport(deps: AdminDeps, request: AdminRequest) {
  const { caller, now } = request;
  await deps.database.transaction(async (tx) => {
    const row = await lockRow(tx, request);
    requireStatus(row, ['draft', 'stopped', 'failed'], 'was started already');
    const { workspaceIds } = JSON.parse(row.selection) as ExportSelection;
    // A field may have been denied since the export was created.
    fieldsOf(JSON.parse(row.requested_data), await deniedFields(tx, caller, workspaceIds));
    const until_at = row.until_at ?? now;
    const begun = { status: 'in_progress', started_at: now, finished_at: null, until_at } as const;
    await logExports.update(tx, row, { ...begun, last_updated_at: now });
    await audit(tx, deps, request, 'update', row, { status: 'in_progress' });
  });
  return { message: 'The export was started', object: 'export' as const };
}

export async function cancelLogExport(deps: AdminDeps, request: AdminRequest) {
  const { now } = request;
  await deps.database.transaction(async (tx) => {
    const row = await lockRow(tx, request);
    requireStatus(row, ['in_progress'], 'is not in progress');
    const ended = { status: 'stopped', finished_at: now, last_updated_at: now } as const;
    await logExports.update(tx, row, ended);
    await audit(tx, deps, request, 'update', row, { status: 'stopped' });
  });
  return { message: 'The export was cancelled', object: 'export' as const };
}

/** Deletes its file permanently. Returns `{}`. */
export async function archiveLogExport(
  deps: AdminDeps,
  request: AdminRequest,
): Promise<Record<string, never>> {
  const { caller, now } = request;
  const { organisationId } = caller;
  const ids = await deps.database.transaction(async (tx) => {
    const row = await lockRow(tx, request);
    const others = ['draft', 'success', 'failed', 'stopped'] as const;
    requireStatus(row, others, 'is in progress: cancel it first');
    const parts = await logExports.listParts(tx, organisationId, row.id);
    if (parts.length > 0) await deps.blobs.markDeleted(tx, organisationId, parts);
    await logExports.deleteParts(tx, organisationId, row.id);
    const columns = { status: 'archived', parts: 0, last_updated_at: now } as const;
    await logExports.update(tx, row, columns);
    await audit(tx, deps, request, 'delete', row, {});
    return parts;
  });
  // Pieces that a store fails to erase are removed by the next sweep.
  for (const id of ids.slice(0, erasedAtOnceMax)) await deps.blobs.erase({ organisationId, id });
  return {};
}

const erasedAtOnceMax = 10;

async function lockRow(
  tx: Db,
  request: Pick<AdminRequest, 'caller' | 'params' | 'ifMatch'>,
): Promise<ExportRow> {
  const { caller, params } = request;
  const id = idOr404(params.exportId!);
  const stored = await logExports.findForUpdate(tx, caller.organisationId, id);
  const row = await requireVisibleExport(tx, caller, stored);
  requireVersion(request, row.version);
  return row;
}

async function workspaceOf(tx: Db, { organisation_id, workspace_id }: ExportRow) {
  if (workspace_id === null) return null;
  const [workspace] = await workspaces.listByIds(tx, organisation_id, [workspace_id]);
  if (workspace !== undefined) return workspace;
  throw new ApiError('conflict', 'The workspace of this export no longer exists');
}

function requireStatus(row: ExportRow, allowed: readonly ExportStatus[], otherwise: string): void {
  if (!allowed.includes(row.status)) throw new ApiError('conflict', `This export ${otherwise}`);
}

/** Includes the number of requests if they are few enough to count. */
async function receipt(
  tx: Db,
  { organisation_id, id }: ExportRow,
  filters: ExportFilters,
  selection: ExportSelection,
) {
  const ids = { id, object: 'export' as const };
  const range = {
    from: Date.parse(filters.time_of_generation_min),
    to: Date.parse(filters.time_of_generation_max),
    after: null,
  };
  const query = { filters, selection };
  const isNarrowed = filters.metadata !== undefined;
  const max = isNarrowed ? readMax : countedMax;
  const total = await exportedLogs.count(tx, organisation_id, query, range, max + 1);
  if (total > max) return ids;
  if (!isNarrowed) return { ...ids, total };
  return { ...ids, total: await countNarrowed(tx, organisation_id, query, range) };
}

async function countNarrowed(
  tx: Db,
  organisationId: string,
  query: { readonly filters: ExportFilters; readonly selection: ExportSelection },
  from: exportedLogs.ExportRange,
): Promise<number> {
  let [range, total] = [from, 0];
  for (;;) {
    const rows = await exportedLogs.listMetadata(tx, organisationId, query, range, readAtOnce);
    total += rows.filter((row) => matchesMetadata(row, query.filters.metadata)).length;
    if (rows.length < readAtOnce) return total;
    range = { ...from, after: rows.at(-1)! };
  }
}

function audit(
  tx: Db,
  deps: AdminDeps,
  request: Pick<AdminRequest, 'caller' | 'now' | 'requestId'>,
  action: 'create' | 'update' | 'delete',
  { id: resourceId, workspace_id: workspaceId }: ExportRow,
  changes: Record<string, unknown>,
): Promise<void> {
  const change = { action, kind: 'LogExport' as const, resourceId, workspaceId, changes };
  return auditChange(tx, deps, request, change);
}
