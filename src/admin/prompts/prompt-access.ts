/** Knows which prompts, partials, collections and labels a caller sees and may change: all of their routes ask here. */
import type { Principal } from '../../auth/principal.ts';
import type { Db } from '../../store/connection/db.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import { requireRight } from '../access/visibility.ts';
import type { ItemRequest } from '../request/frame-fields.ts';
import { findIn, resolveWorkspace } from '../request/scoping.ts';

/**
 * The one that a path names.
 *
 * @throws ApiError `notFound`, and `forbidden` where its workspace does not show it to people of the caller's role
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

/** @throws ApiError `forbidden` where the workspace lets people of the caller's role change nothing */
export function requireWriter(
  db: Db,
  caller: Principal,
  { workspace_id: workspaceId }: { readonly workspace_id: string | null },
): Promise<void> {
  return requireIn(db, caller, workspaceId, 'WritePrompts');
}

/** Nothing is read for callers who are nobody in person. */
async function requireIn(
  db: Db,
  caller: Principal,
  workspaceId: string | null,
  right: 'ViewPrompts' | 'WritePrompts',
): Promise<void> {
  if (caller.person === null) return;
  const { organisationId } = caller;
  const found =
    workspaceId === null
      ? undefined
      : await workspaces.findByIdOrSlug(db, organisationId, workspaceId);
  await requireRight(db, caller, found ?? null, right);
}

/**
 * Of which workspace a list is; null for all.
 *
 * @throws ApiError `forbidden` where that does not show them to people of the caller's role
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
