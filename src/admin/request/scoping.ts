/** Knows where a request may act: its organisation always, one workspace when the credential is bound. */
import { ApiError } from '../../model/errors.ts';
import { isUuid } from '../../model/slug.ts';
import type { Db } from '../../store/connection/db.ts';
import * as organisationLocks from '../../store/tables/organisation-locks.ts';
import * as workspaces from '../../store/tables/workspaces.ts';
import type { AdminRequest } from './deps.ts';

type Caller = AdminRequest['caller'];

/**
 * What is of the organisation as a whole is no matter of a credential that is bound to a workspace.
 *
 * @throws ApiError `forbidden`.
 */
export function requireWholeOrganisation({ workspaceId }: Pick<Caller, 'workspaceId'>): void {
  if (workspaceId !== null) throw new ApiError('forbidden');
}

/**
 * The workspace that a list or look-up is about: the one named (UUID or slug), else the one the
 * credential is bound to, else null for the whole organisation.
 *
 * @throws ApiError `notFound` for a workspace that is not the organisation's, `forbidden` when a
 *   bound credential names any other than its own.
 */
export async function resolveWorkspace(
  db: Db,
  caller: Caller,
  reference: string | null | undefined,
): Promise<workspaces.StoredWorkspace | null> {
  return resolve(db, caller, reference, workspaces.findByIdOrSlug);
}

/** Whether a create decides about others in its place too, and so does it alone in its organisation. */
export type Hold = 'shared' | 'alone';

/** As {@link resolveWorkspace}, for a create: the workspace stays active until the transaction ends. */
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
  // Asked first, so that a bound credential cannot learn which other workspaces exist.
  if (caller.workspaceId !== null && workspace?.id !== caller.workspaceId) {
    throw new ApiError('forbidden', undefined, 'workspace_id');
  }
  if (workspace === undefined) throw new ApiError('notFound', undefined, 'workspace_id');
  return workspace;
}

/**
 * Yields the row a path names. One that is missing, another tenant's or outside the credential's
 * workspace answers alike.
 *
 * @throws ApiError `notFound`.
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
 * Refuses to go on with a resource that is not in the workspace the request names.
 *
 * @throws ApiError `notFound`, or as {@link resolveWorkspace}.
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
 * Yields the row a path names, which has to be in the workspace that the request names, if any.
 *
 * @throws ApiError as {@link findOr404} and {@link requireWorkspace}.
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
 * The id a path names, lower-cased, for resources without slug.
 *
 * @throws ApiError `notFound` when it does not have the form of an id.
 */
export function idOr404(text: string): string {
  if (!isUuid(text)) throw new ApiError('notFound');
  return text.toLowerCase();
}

/**
 * Checks that a body's `organisation_id` (UUID or TSG id), where given, is the caller's own.
 *
 * @throws ApiError `notFound`, as for an organisation that does not exist.
 */
export function requireOwnOrganisation(caller: Caller, reference: string | undefined): void {
  if (reference === undefined) return;
  if (reference.toLowerCase() === caller.organisationId || reference === caller.tsgId) return;
  throw new ApiError('notFound', undefined, 'organisation_id');
}
