/**
 * Determines where a request may act: in its organisation, or in one workspace if the credential is bound to
 * it.
 */
import { ApiError } from '../../model/wire/errors.ts';
import { isUuid } from '../../model/wire/slug-forms.ts';
import type { Db } from '../../store/connection/db.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import * as organisationLocks from '../../store/rows/organisation-locks.ts';
import type { AdminRequest } from './deps.ts';

type Caller = AdminRequest['caller'];

/** @throws ApiError `forbidden` when the credential is bound to a workspace */
export function requireWholeOrganisation({ workspaceId }: Pick<Caller, 'workspaceId'>): void {
  if (workspaceId !== null) throw new ApiError('forbidden');
}

/**
 * Resolves the workspace of a list or look-up: the one named (UUID or slug), else the one that the
 * credential is bound to, else null for the whole organisation.
 *
 * @throws ApiError `notFound` for a workspace of another organisation; `forbidden` when a bound
 *   credential names a workspace other than its own
 */
export async function resolveWorkspace(
  db: Db,
  caller: Caller,
  reference: string | null | undefined,
): Promise<workspaces.StoredWorkspace | null> {
  return resolve(db, caller, reference, workspaces.findByIdOrSlug);
}

/** `alone` for a create that decides about other rows of its organisation and therefore locks it. */
export type Hold = 'shared' | 'alone';

/** Like {@link resolveWorkspace}, for a create: locks the workspace until the transaction ends. */
export async function resolveWorkspaceForWrite(
  tx: Db,
  caller: Caller,
  reference: string | null | undefined,
  hold: Hold,
): Promise<workspaces.StoredWorkspace | null> {
  if (hold === 'alone') await organisationLocks.lock(tx, caller.organisationId);
  return resolve(tx, caller, reference, workspaces.findByIdOrSlugForShare);
}

async function resolve(
  db: Db,
  caller: Caller,
  reference: string | null | undefined,
  find: typeof workspaces.findByIdOrSlug,
): Promise<workspaces.StoredWorkspace | null> {
  const named = reference ?? caller.workspaceId;
  if (named === null) return null;
  const workspace = await find(db, caller.organisationId, named);
  // Checked first, so that a bound credential cannot learn which other workspaces exist.
  if (caller.workspaceId !== null && workspace?.id !== caller.workspaceId) {
    throw new ApiError('forbidden', undefined, 'workspace_id');
  }
  if (workspace === undefined) throw new ApiError('notFound', undefined, 'workspace_id');
  return workspace;
}

/**
 * Returns the row named by the path. A missing row, a row of another tenant and one outside the
 * credential's workspace give the same error.
 *
 * @throws ApiError `notFound`
 */
export function findOr404<Row extends { workspace_id: string | null }>(
  caller: Caller,
  row: Row | undefined,
): Row {
  if (row === undefined) throw new ApiError('notFound');
  if (caller.workspaceId !== null && row.workspace_id !== caller.workspaceId) {
    throw new ApiError('notFound');
  }
  return row;
}

/**
 * Requires the row to be in the workspace that the request names, if it names one.
 *
 * @throws ApiError `notFound`; the errors of {@link resolveWorkspace}
 */
export async function requireWorkspace(
  db: Db,
  caller: Caller,
  row: { readonly workspace_id: string | null },
  reference: string | null | undefined,
): Promise<void> {
  if (reference === undefined || reference === null) return;
  const workspace = await resolveWorkspace(db, caller, reference);
  if (workspace?.id !== row.workspace_id) throw new ApiError('notFound');
}

/**
 * Returns the row named by the path; it must be in the workspace that the request names, if any.
 *
 * @throws ApiError as {@link findOr404} and {@link requireWorkspace}
 */
export async function findIn<Row extends { readonly workspace_id: string | null }>(
  db: Db,
  caller: Caller,
  workspace: string | null | undefined,
  finding: Promise<Row | undefined>,
): Promise<Row> {
  const row = findOr404(caller, await finding);
  await requireWorkspace(db, caller, row, workspace);
  return row;
}

/**
 * Parses the id in a path, in lower case, for resources without a slug.
 *
 * @throws ApiError `notFound` when it is not a UUID
 */
export function idOr404(text: string): string {
  if (!isUuid(text)) throw new ApiError('notFound');
  return text.toLowerCase();
}

/**
 * Requires `organisation_id` in a body (UUID or TSG id), if present, to be the caller's own.
 *
 * @throws ApiError `notFound`, as for an organisation that does not exist
 */
export function requireOwnOrganisation(caller: Caller, reference: string | undefined): void {
  if (reference === undefined) return;
  if (reference.toLowerCase() === caller.organisationId || reference === caller.tsgId) return;
  throw new ApiError('notFound', undefined, 'organisation_id');
}
