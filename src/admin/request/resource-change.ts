/** Carries out creates, updates and deletes of resources: transaction, row lock, version check, records. */
import type { Principal } from '../../auth/principal.ts';
import type { KindName } from '../../model/kinds/kinds.ts';
import { newId } from '../../model/wire/ids.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import { recordChange } from './change.ts';
import type { AdminDeps, AdminRequest } from './deps.ts';
import {
  type BodyRequest,
  type CreateFields,
  requireUpdate,
  type UpdateFields,
} from './frame-fields.ts';
import { findIn, type Hold, requireOwnOrganisation, resolveWorkspaceForWrite } from './scoping.ts';
import { requireVersion } from './version.ts';

/** Columns that this module needs; for a workspace `workspace_id` is its own id. */
export interface StoredResource {
  readonly id: string;
  readonly organisation_id: string;
  readonly workspace_id: string | null;
  readonly version: number;
  readonly last_updated_at: number;
}

/** Describes how rows of one kind are locked, written and protected. */
export interface ResourceWriter<Row extends StoredResource> {
  readonly kind: KindName;
  /** Path parameter with the id or slug. */
  readonly param: string;
  /** Finds the row by id or slug and locks it until the transaction ends. */
  readonly lock: (tx: Db, organisationId: string, reference: string) => Promise<Row | undefined>;
  /** Writes columns and increments the version. */
  readonly write: (
    tx: Db,
    organisationId: string,
    id: string,
    columns: Partial<Row>,
  ) => Promise<void>;
  /** Refuses actions that the caller may not do with this row; runs before the version check. */
  readonly admit?: (caller: Principal, row: Row, action: 'update' | 'delete') => void;
  /** Refuses callers whose role may not change the row; runs after the version check. */
  readonly requireRight?: (tx: Db, caller: Principal, row: Row) => Promise<void>;
}

/** Describes what an update writes. */
export interface ResourceUpdate<Row extends StoredResource> {
  /** New column values; undefined and unchanged values are not written. */
  readonly columns: (tx: Db, row: Row) => Partial<Row> | Promise<Partial<Row>>;
  /** Columns that are written together with any other column. */
  readonly stamp?: Partial<Row>;
  /** Body fields that trigger an action rather than set a value. */
  readonly triggers?: readonly string[];
  /** Changes other tables, given the changed columns. */
  readonly follow?: (tx: Db, row: Row, changed: Partial<Row>) => Promise<void>;
  /** Writes fields stored in other tables and returns the names of those that changed. */
  readonly writeElsewhere?: (tx: Db, row: Row) => Promise<readonly string[]>;
}

/**
 * Returns the row that `insert` has inserted, after recording it; `changes` are facts for the audit row.
 * An `insert` that decides about other rows of its workspace or organisation needs the hold `alone`.
 */
export async function createResource<
  Row extends { readonly id: string; readonly workspace_id: string | null },
>(
  deps: AdminDeps,
  request: BodyRequest<CreateFields & { readonly workspace_id?: string | undefined }>,
  kind: KindName,
  insert: (
    tx: Db,
    workspace: StoredWorkspace | null,
  ) => Promise<{ row: Row; changes: Record<string, unknown> }>,
  hold: Hold = 'shared',
): Promise<Row> {
  const { caller, body } = request;
  requireOwnOrganisation(caller, body.organisation_id);
  return deps.database.transaction(async (tx) => {
    const workspace = await resolveWorkspaceForWrite(tx, caller, body.workspace_id, hold);
    const { row, changes } = await insert(tx, workspace);
    await recordChange(tx, deps, request, {
      action: 'create',
      kind,
      resourceId: row.id,
      workspaceId: row.workspace_id,
      changes,
      managedBy: body.managed_by,
    });
    return row;
  });
}

/** Columns common to all new rows. */
export function baseColumns<W extends { readonly id: string } | null>(
  { caller, now }: Pick<AdminRequest, 'caller' | 'now'>,
  workspace: W,
) {
  return {
    id: newId(),
    organisation_id: caller.organisationId,
    workspace_id: (workspace?.id ?? null) as W extends null ? null : string,
    created_at: now,
    last_updated_at: now,
  };
}

/**
 * Returns the row after the update. An update that changes nothing writes nothing and keeps the version.
 */
export async function updateResource<Row extends StoredResource>(
  deps: AdminDeps,
  request: BodyRequest<UpdateFields>,
  { kind, param, lock, write, admit, requireRight }: ResourceWriter<Row>,
  { columns, stamp, triggers = [], follow, writeElsewhere }: ResourceUpdate<Row>,
): Promise<Row> {
  const { caller, params, body, now } = request;
  requireUpdate(body);
  return deps.database.transaction(async (tx) => {
    const finding = lock(tx, caller.organisationId, params[param]!);
    const row = await findIn(tx, caller, body.workspace_id, finding);
    admit?.(caller, row, 'update');
    requireVersion(request, row.version);
    await requireRight?.(tx, caller, row);
    const changed = changedColumns(row, await columns(tx, row));
    const others = (await writeElsewhere?.(tx, row)) ?? [];
    const fields = [...Object.keys(changed), ...others, ...triggers];
    if (Object.keys(changed).length + others.length > 0) {
      const written = { ...changed, ...stamp, last_updated_at: now };
      await write(tx, caller.organisationId, row.id, written);
    }
    await follow?.(tx, row, changed);
    await recordChange(tx, deps, request, {
      action: 'update',
      kind,
      resourceId: row.id,
      workspaceId: row.workspace_id,
      changes: { fields },
      unchanged: fields.length === 0,
      managedBy: body.managed_by,
    });
    return { ...row, ...changed };
  });
}

/** Returns `{}`. `remove` deletes or archives the row and returns facts for the audit row. */
export async function deleteResource<Row extends StoredResource>(
  deps: AdminDeps,
  request: AdminRequest<
    Record<string, string>,
    { readonly workspace_id?: string | undefined } | undefined
  >,
  { kind, param, lock, admit, requireRight }: ResourceWriter<Row>,
  remove: (tx: Db, row: Row) => Promise<Record<string, unknown>>,
): Promise<Record<string, never>> {
  const { caller, params, query } = request;
  await deps.database.transaction(async (tx) => {
    const finding = lock(tx, caller.organisationId, params[param]!);
    const row = await findIn(tx, caller, query?.workspace_id, finding);
    admit?.(caller, row, 'delete');
    requireVersion(request, row.version);
    await requireRight?.(tx, caller, row);
    await recordChange(tx, deps, request, {
      action: 'delete',
      kind,
      resourceId: row.id,
      workspaceId: row.workspace_id,
      changes: await remove(tx, row),
    });
  });
  return {};
}

/** Deletes the row of a resource, for {@link deleteResource}; the audit row states its name. */
export function removeNamedRow(
  deleteById: (tx: Db, organisationId: string, id: string) => Promise<void>,
) {
  return async (tx: Db, row: StoredResource & { readonly name: string }) => {
    await deleteById(tx, row.organisation_id, row.id);
    return { name: row.name };
  };
}

/** @throws ApiError `invalid` when the body sets another value for an immutable field */
export function requireUnchanged(field: string, sent: string | undefined, stored: string): void {
  if (sent === undefined || sent === stored) return;
  throw validationError({ path: [field], message: 'cannot be changed' });
}

/** The columns that are defined and differ from the stored row. */
function changedColumns<Row extends object>(row: Row, columns: Partial<Row>): Partial<Row> {
  const changed: Partial<Row> = {};
  for (const key of Object.keys(columns) as (keyof Row)[]) {
    if (columns[key] !== undefined && columns[key] !== row[key]) changed[key] = columns[key];
  }
  return changed;
}
