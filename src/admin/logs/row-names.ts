/** Finds the names of the keys and workspaces that rows of the log refer to. */
import type { RequestLogRecord } from '../../model/logs/request-log.ts';
import type { Db } from '../../store/connection/db.ts';
import type { RequestLogRow } from '../../store/logs/request-logs.ts';
import * as apiKeys from '../../store/resources/api-keys.ts';
import * as workspaces from '../../store/resources/workspaces.ts';

type Row = Pick<RequestLogRow, 'organisation_id' | 'workspace_id' | 'api_key_id'>;
type RowNames = Pick<RequestLogRecord, 'api_key_name' | 'workspace_slug'>;

/** Names for rows of one organisation, by row; null for what is deleted or not recorded. */
export async function findRowNames(db: Db, rows: readonly Row[]): Promise<(row: Row) => RowNames> {
  const keyNames = new Map<string, string>();
  const slugs = new Map<string, string>();
  const [first] = rows;
  if (first !== undefined) {
    const { organisation_id } = first;
    const keyIds = idsIn(rows.map(({ api_key_id }) => api_key_id));
    const workspaceIds = idsIn(rows.map(({ workspace_id }) => workspace_id));
    for (const { id, name } of await apiKeys.listByIds(db, organisation_id, keyIds)) {
      keyNames.set(id, name);
    }
    for (const { id, slug } of await workspaces.listByIds(db, organisation_id, workspaceIds)) {
      slugs.set(id, slug);
    }
  }
  return ({ api_key_id, workspace_id }) => ({
    api_key_name: keyNames.get(api_key_id ?? '') ?? null,
    workspace_slug: slugs.get(workspace_id ?? '') ?? null,
  });
}

function idsIn(ids: readonly (string | null)[]): string[] {
  return [...new Set(ids.filter((id) => id !== null))];
}
