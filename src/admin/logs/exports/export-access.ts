/**
 * Restricts log exports to callers who may see all their requests (docs/reference/analytics.md, Log
 * exports).
 */
import type { Principal } from '../../../auth/principal.ts';
import type { ExportSelection } from '../../../model/logs/log-export.ts';
import { ApiError } from '../../../model/wire/errors.ts';
import type { Db } from '../../../store/connection/db.ts';
import type { StoredLogExport } from '../../../store/logs/log-exports.ts';
import * as workspaces from '../../../store/resources/workspaces.ts';
import { requireRight, visibleKeys } from '../../access/visibility.ts';
import { findOr404 } from '../../request/scoping.ts';

/**
 * Keys whose requests the caller may export; null for all.
 *
 * @throws ApiError `forbidden` when the caller may not see the log
 */
export async function exportableKeys(
  db: Db,
  caller: Principal,
  workspace: workspaces.StoredWorkspace | null,
): Promise<readonly string[] | null> {
  await requireRight(db, caller, workspace, 'ViewLogs');
  return await visibleKeys(db, caller, workspace);
}

/**
 * @throws ApiError `notFound`, also for an export of requests that the caller may not see; as {@link
 * exportableKeys}
 */
export async function requireVisibleExport(
  db: Db,
  caller: Principal,
  exported: StoredLogExport | undefined,
): Promise<StoredLogExport> {
  const row = findOr404(caller, exported);
  if (caller.person === null) return row;
  const { organisation_id, workspace_id } = row;
  const [workspace = null] =
    workspace_id === null ? [] : await workspaces.listByIds(db, organisation_id, [workspace_id]);
  const visible = await exportableKeys(db, caller, workspace);
  const { apiKeyIds } = JSON.parse(row.selection) as ExportSelection;
  if (visible === null || apiKeyIds?.every((id) => visible.includes(id))) return row;
  throw new ApiError('notFound');
}
