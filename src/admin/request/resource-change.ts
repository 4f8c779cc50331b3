/** Knows the course of every change of a resource: one transaction, the right row, its version, its traces. */
import type { Principal } from '../../auth/principal.ts';
import { newId } from '../../model/ids.ts';
import type { KindName } from '../../model/kinds.ts';
import { validationError } from '../../model/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import type { StoredWorkspace } from '../../store/tables/workspaces.ts';
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

/** A row as the course needs it; for a workspace `workspace_id` is its own id. */
interface StoredResource {
  readonly id: string;
  readonly organisation_id: string;
  readonly workspace_id: string | null;
  readonly version: number;
  readonly last_updated_at: number;
}

/** What a kind of resource brings to its updates and deletes. */
export interface Changing<Row extends StoredResource> {
  readonly kind: KindName;
  /** The parameter of its paths that names it. */
  readonly param: string;
  /** Finds the row a path names and holds it until the transaction ends. */
  readonly lock: (tx: Db, organisationId: string, reference: string) => Promise<Row | undefined>;
  /** Writes columns and counts the write. */
  readonly write: (
    tx: Db,
    organisationId: string,
    id: string,
    columns: Partial<Row>,
  ) => Promise<void>;
  /** Refuses what this caller may not do with this row; asked before the row's version is. */
  readonly admit?: (caller: Principal, row: Row, action: 'update' | 'delete') => void;
}

/** What an update does once its row is found and held. */
export interface Update<Row extends StoredResource> {
  /** Columns as they are to be; undefined, and what is stored already, stays. */
  readonly columns: (tx: Db, row: Row) => Partial<Row> | Promise<Partial<Row>>;
  /** Columns that are written together with any other. */
  readonly stamp?: Partial<Row>;
  /** Names of fields of the body that are no state but an order to do something. */
  readonly triggers?: readonly string[];
  /** What changes in other tables, given the columns that did here. */
  readonly follow?: (tx: Db, row: Row, changed: Partial<Row>) => Promise<void>;
  /** Fields that are kept in other tables: writes them, and yields the names of those that changed. */
  readonly elsewhere?: (tx: Db, row: Row) => Promise<readonly string[]>;
}

/**
 * Yields the row that `make` has inserted, once it is recorded; `changes` are facts for the audit
 * row. A `make` that decides about other rows of the place than its own has it `alone`.
 */
export async function createResource<
  Row extends { readonly id: string; readonly workspace_id: string | null },
>(
  deps: AdminDeps,
  request: BodyRequest<CreateFields & { readonly workspace_id?: string | undefined }>,
  kind: KindName,
  make: (
    tx: Db,
    workspace: StoredWorkspace | null,
  ) => Promise<{ row: Row; changes: Record<string, unknown> }>,
  hold: Hold = 'shared',
): Promise<Row> {
  const { caller, body } = request;
  requireOwnOrganisation(caller, body.organisation_id);
  return deps.database.transaction(async (tx) => {
    const workspace = await resolveWorkspaceForWrite(tx, caller, body.workspace_id, hold);
    const { row, changes } = await make(tx, workspace);
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

/** Columns that every new row has. */
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

/** Yields the row as it is now. An update that changes nothing writes nothing, not even a version. */
export async function updateResource<Row extends StoredResource>(
  deps: AdminDeps,
  request: BodyRequest<UpdateFields>,
  { kind, param, lock, write, admit }: Changing<Row>,
  { columns, stamp, triggers = [], follow, elsewhere }: Update<Row>,
): Promise<Row> {
  const { caller, params, body, now } = request;
  requireUpdate(body);
  return deps.database.transaction(async (tx) => {
    const finding = lock(tx, caller.organisationId, params[param]!);
    const row = await findIn(tx, caller, body.workspace_id, finding);
    admit?.(caller, row, 'update');
    requireVersion(request, row.version);
    const changed = differing(row, await columns(tx, row));
    const others = (await elsewhere?.(tx, row)) ?? [];
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

/** Answers `{}`. `remove` deletes or archives the row and yields facts for the audit row. */
export async function deleteResource<Row extends StoredResource>(
  deps: AdminDeps,
  request: AdminRequest<
    Record<string, string>,
    { readonly workspace_id?: string | undefined } | undefined
  >,
  { kind, param, lock, admit }: Changing<Row>,
  remove: (tx: Db, row: Row) => Promise<Record<string, unknown>>,
): Promise<Record<string, never>> {
  const { caller, params, query } = request;
  await deps.database.transaction(async (tx) => {
    const finding = lock(tx, caller.organisationId, params[param]!);
    const row = await findIn(tx, caller, query?.workspace_id, finding);
    admit?.(caller, row, 'delete');
    requireVersion(request, row.version);
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

/**
 * Refuses another value for a field that is fixed when the resource is made.
 *
 * @throws ApiError `invalid`.
 */
export function requireUnchanged(field: string, sent: string | undefined, stored: string): void {
  if (sent === undefined || sent === stored) return;
  throw validationError({ path: [field], message: 'cannot be changed' });
}

/** Those of the columns that are given and are not what is stored already. */
function differing<Row extends object>(row: Row, columns: Partial<Row>): Partial<Row> {
  const changed: Partial<Row> = {};
  for (const key of Object.keys(columns) as (keyof Row)[]) {
    if (columns[key] !== undefined && columns[key] !== row[key]) changed[key] = columns[key];
  }
  return changed;
}
