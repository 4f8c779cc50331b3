/** Knows which prompts, partials and labels a caller sees: the one place that all of their routes look through. */
import type { Principal } from '../../auth/principal.ts';
import type { Db } from '../../store/connection/db.ts';
import type { StoredWorkspace } from '../../store/tables/workspaces.ts';
import type { ItemRequest } from '../request/frame-fields.ts';
import { findOr404, requireWorkspace, resolveWorkspace } from '../request/scoping.ts';

/**
 * The one that a path names.
 *
 * @throws ApiError `notFound`
 */
export async function findVisible<Row extends { readonly workspace_id: string | null }>(
  db: Db,
  { caller, query }: Pick<ItemRequest, 'caller' | 'query'>,
  finding: Promise<Row | undefined>,
): Promise<Row> {
  const row = findOr404(caller, await finding);
  await requireWorkspace(db, caller, row, query.workspace_id);
  return row;
}

/** Of which workspace a list is; null for all. */
export function placeOfList(
  db: Db,
  caller: Principal,
  reference: string | undefined,
): Promise<StoredWorkspace | null> {
  return resolveWorkspace(db, caller, reference);
}
