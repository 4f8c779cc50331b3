/** Knows how workspaces are made, changed and archived: each in one transaction with its traces. */
import { ApiError } from '../../model/errors.ts';
import { newId } from '../../model/ids.ts';
import { readDocument, writeDocument } from '../../model/json-record.ts';
import type { WorkspaceUsageLimits } from '../../model/limits.ts';
import { makeSlug } from '../../model/slug.ts';
import {
  displayName,
  type WorkspaceCreate,
  type WorkspaceDefaults,
  type WorkspaceDelete,
  type WorkspaceUpdate,
  workspaceSlugForm,
} from '../../model/workspace.ts';
import type { Db } from '../../store/connection/db.ts';
import type { UsageSubject } from '../../store/tables/usage-entities.ts';
import * as workspaceContents from '../../store/tables/workspace-contents.ts';
import * as workspaces from '../../store/tables/workspaces.ts';
import { type CreateFields, requireUpdate } from '../request/body-fields.ts';
import { changeBudget, openBudget, requireFutureReset } from '../request/budgets.ts';
import { recordChange, requireVersion, sentFields } from '../request/change.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import { statusOfReachable } from '../request/guardrail-access.ts';

type Managed = Pick<CreateFields, 'managed_by'>;

type WorkspaceRequest<Body> = AdminRequest<Record<string, string>, unknown, Body>;

/** Answers the row as stored. */
export async function create(
  deps: AdminDeps,
  request: WorkspaceRequest<WorkspaceCreate & Managed>,
): Promise<workspaces.StoredWorkspace> {
  const { body, caller, now } = request;
  if (caller.workspaceId !== null) throw new ApiError('forbidden');
  const row: workspaces.StoredWorkspace = {
    id: newId(),
    organisation_id: caller.organisationId,
    slug: makeSlug(workspaceSlugForm, body.name),
    name: body.name,
    description: body.description ?? null,
    icon: iconOf(body.icon),
    scope_name: body.scope_name ?? null,
    defaults: mergedDefaults(null, body.defaults ?? null),
    usage_limits: writeDocument(body.usage_limits),
    rate_limits: writeDocument(body.rate_limits),
    status: 'active',
    is_default: 0,
    api_key_max_ttl_days: null,
    created_by: caller.id,
    last_reset_at: null,
    version: 1,
    created_at: now,
    last_updated_at: now,
  };
  const budget = body.usage_limits?.[0] ?? null;
  if (budget !== null) requireFutureReset(budget, now, 'usage_limits[0].next_usage_reset_at');
  await deps.database.transaction(async (tx) => {
    await workspaces.insert(tx, row);
    if (budget !== null) await openBudget(tx, subjectOf(row), budget, now);
    await recordChange(tx, deps, request, {
      action: 'create',
      kind: 'Workspace',
      resourceId: row.id,
      workspaceId: row.id,
      changes: { fields: sentFields(body) },
      managedBy: body.managed_by,
    });
  });
  return row;
}

/** Answers `{}`. Absent fields stay, null clears (docs/api.md, Null and empty). */
export async function update(
  deps: AdminDeps,
  request: WorkspaceRequest<WorkspaceUpdate & Managed>,
): Promise<Record<string, never>> {
  const { body, caller, now } = request;
  requireUpdate(body);
  const fields = sentFields(body);
  await deps.database.transaction(async (tx) => {
    const row = await findOwn(tx, request, workspaces.findByIdOrSlugForUpdate);
    requireVersion(request, row.version);
    if (fields.length > 0) {
      const columns = await changedColumns(tx, body, row);
      await workspaces.update(tx, caller.organisationId, row.id, {
        ...columns,
        last_updated_at: now,
      });
      await keepBudget(tx, body, row, now);
    }
    await recordChange(tx, deps, request, {
      action: 'update',
      kind: 'Workspace',
      resourceId: row.id,
      workspaceId: row.id,
      changes: { fields },
      managedBy: body.managed_by,
    });
  });
  return {};
}

/**
 * Archives a workspace and answers `{}`. What it holds blocks that, or with `force_delete` goes
 * with it. The body repeats the name as confirmation, save where the request comes from the owner
 * of a manifest, which names the workspace already.
 */
export async function remove(
  deps: AdminDeps,
  request: WorkspaceRequest<WorkspaceDelete>,
): Promise<Record<string, never>> {
  const { body, caller, now } = request;
  await deps.database.transaction(async (tx) => {
    const row = await findOwn(tx, request, workspaces.findByIdOrSlugForUpdate);
    requireConfirmation(request, row);
    requireVersion(request, row.version);
    const items = await workspaceContents.list(tx, caller.organisationId, row.id);
    if (items.length > 0 && body.force_delete !== true) refuseWith(items);
    await workspaceContents.deleteAll(tx, caller.organisationId, row.id, now);
    for (const item of items) {
      await recordChange(tx, deps, request, {
        action: 'delete',
        kind: item.kind,
        resourceId: item.id,
        workspaceId: row.id,
        changes: { with_workspace: row.id },
      });
    }
    await workspaces.update(tx, caller.organisationId, row.id, {
      status: 'archived',
      last_updated_at: now,
    });
    await recordChange(tx, deps, request, {
      action: 'delete',
      kind: 'Workspace',
      resourceId: row.id,
      workspaceId: row.id,
      changes: { name: row.name, contents: items.length },
    });
  });
  return {};
}

/** The workspace the path names. A bound credential finds no other than its own. */
export async function findOwn(
  db: Db,
  { caller, params }: Pick<AdminRequest, 'caller' | 'params'>,
  find: typeof workspaces.findByIdOrSlug,
): Promise<workspaces.StoredWorkspace> {
  const row = await find(db, caller.organisationId, params.id!);
  if (row === undefined || (caller.workspaceId ?? row.id) !== row.id) {
    throw new ApiError('notFound');
  }
  return row;
}

function requireConfirmation(
  { body, owner }: WorkspaceRequest<WorkspaceDelete>,
  row: workspaces.StoredWorkspace,
): void {
  if (body.name === undefined && owner !== null) return;
  if (body.name === row.name || body.name === displayName(row)) return;
  throw new ApiError('invalid', 'name: must be the name of the workspace', 'name');
}

/** `… still holds 2 ApiKey, 1 Config`. */
function refuseWith(items: readonly workspaceContents.WorkspaceItem[]): never {
  const counts = Map.groupBy(items, (item) => item.kind);
  const list = [...counts].map(([kind, ofKind]) => `${ofKind.length} ${kind}`).join(', ');
  const message = `The workspace still holds ${list}; delete them first or send force_delete`;
  throw new ApiError('conflict', message, 'force_delete');
}

type WorkspaceColumns = Parameters<typeof workspaces.update>[3];

async function changedColumns(
  tx: Db,
  body: WorkspaceUpdate,
  row: workspaces.StoredWorkspace,
): Promise<WorkspaceColumns> {
  const columns: WorkspaceColumns = {};
  if (body.icon !== undefined) columns.icon = iconOf(body.icon);
  if (body.name !== undefined) {
    columns.name = plainName(body.name, columns.icon === undefined ? row.icon : columns.icon);
  }
  if (body.description !== undefined) columns.description = body.description;
  if (body.usage_limits !== undefined) columns.usage_limits = writeDocument(body.usage_limits);
  if (body.rate_limits !== undefined) columns.rate_limits = writeDocument(body.rate_limits);
  if (body.defaults !== undefined) {
    await requireGuardrails(tx, row, body.defaults?.input_guardrails, 'defaults.input_guardrails');
    await requireGuardrails(
      tx,
      row,
      body.defaults?.output_guardrails,
      'defaults.output_guardrails',
    );
    columns.defaults = mergedDefaults(row.defaults, body.defaults);
  }
  return columns;
}

/** Clients that send back what they read send the icon in the name; it is not part of it. */
function plainName(name: string, icon: string | null): string {
  const prefix = `${icon} `;
  return icon !== null && name.startsWith(prefix) && name.length > prefix.length
    ? name.slice(prefix.length)
    : name;
}

function iconOf(icon: string | null | undefined): string | null {
  return icon === undefined || icon === '' ? null : icon;
}

/** Null clears one key, or all of them. */
function mergedDefaults(stored: string | null, sent: WorkspaceUpdate['defaults']): string | null {
  if (sent === null || sent === undefined) return null;
  const before = readDocument<WorkspaceDefaults>(stored) ?? {};
  const merged = Object.entries({ ...before, ...sent }).filter(([, value]) => value !== null);
  return merged.length === 0 ? null : JSON.stringify(Object.fromEntries(merged));
}

/** @throws ApiError `invalid` when a guardrail is not one this workspace can use. */
async function requireGuardrails(
  tx: Db,
  row: workspaces.StoredWorkspace,
  references: readonly string[] | null | undefined,
  param: string,
): Promise<void> {
  if (references === undefined || references === null) return;
  const at = { organisation_id: row.organisation_id, workspace_id: row.id };
  const statusOf = await statusOfReachable(tx, at, references);
  const unknown = references.filter((name) => statusOf(name) !== 'active');
  if (unknown.length === 0) return;
  throw new ApiError('invalid', `${param}: names unknown guardrails ${unknown.join(', ')}`, param);
}

async function keepBudget(
  tx: Db,
  body: WorkspaceUpdate,
  row: workspaces.StoredWorkspace,
  now: number,
): Promise<void> {
  if (body.usage_limits === undefined) return;
  const change = {
    before: readDocument<WorkspaceUsageLimits>(row.usage_limits)?.[0] ?? null,
    after: body.usage_limits?.[0] ?? null,
  };
  await changeBudget(tx, subjectOf(row), change, now);
}

function subjectOf(row: workspaces.StoredWorkspace): UsageSubject {
  return { organisationId: row.organisation_id, kind: 'workspace', id: row.id };
}
