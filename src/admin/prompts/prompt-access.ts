/** Checks which prompts, partials, collections and labels a caller may see and change. */
import type { Principal } from '../../auth/principal.ts';
import type { Db } from '../../store/connection/db.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import { requireRight } from '../access/visibility.ts';
import type { ItemRequest } from '../request/frame-fields.ts';
import { findIn, resolveWorkspace } from '../request/scoping.ts';

/**
 * The row named by the path.
 *
 * @throws ApiError `notFound`; `forbidden` when the workspace hides it from the caller's role
 */
export async function findVisible<Row extends { readonly workspace_id: string | null }>(
  db: Db,
  { caller, query }: Pick<ItemRequest, 'caller' | 'query'>,
  finding: Promise<Row | undefined>,
): Promise<Row> {
  const row = await findIn(db, caller, query.workspace_id, finding);
  await requireIn(db, caller, row.workspace_id, 'ViewPrompts');
  return row;
}

/** @throws ApiError `forbidden` when the workspace lets the caller's role change nothing */
export function requireWriter(
  db: Db,
  caller: Principal,
  { workspace_id: workspaceId }: { readonly workspace_id: string | null },
): Promise<void> {
  return requireIn(db, caller, workspaceId, 'WritePrompts');
}

/** Reads nothing for callers that are not users. */
async function requireIn(
  db: Db,
  caller: Principal,
  workspaceId: string | null,
  right: 'ViewPrompts' | 'WritePrompts',
): Promise<void> {
  if (caller.person === null) return;
  const { organisationId } = caller;
  const workspace =
    workspaceId === null
      ? undefined
      : await workspaces.findByIdOrSlug(db, organisationId, workspaceId);
  await requireRight(db, caller, workspace ?? null, right);
}

/**
 * Workspace of a list; null for all.
 *
 * @throws ApiError `forbidden` when the workspace hides the list from the caller's role
 */
export async function placeOfList(
  db: Db,
  caller: Principal,
  reference: string | undefined,
): Promise<StoredWorkspace | null> {
  const workspace = await resolveWorkspace(db, caller, reference);
  await requireRight(db, caller, workspace, 'ViewPrompts');
  return workspace;
}
