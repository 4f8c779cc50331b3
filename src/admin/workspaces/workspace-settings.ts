/** Knows how the settings of a workspace are merged, kept and told. */
import type { Principal } from '../../auth/principal.ts';
import { rewriteDocument, sparse } from '../../model/json-record.ts';
import type { WorkspaceSettings } from '../../model/workspace.ts';
import type { StoredWorkspace } from '../../store/tables/workspaces.ts';
import { requireGrantable } from '../request/grantable.ts';
import { settingsOf } from '../request/user-keys.ts';

type Columns = Pick<StoredWorkspace, 'settings' | 'api_key_max_ttl_days'>;

/** The columns once what was sent is merged key by key; null clears one key, or all of them. */
export function settingColumns(
  stored: Columns,
  sent: WorkspaceSettings | null | undefined,
): Columns {
  const { settings, api_key_max_ttl_days } = stored;
  if (sent === undefined) return { settings, api_key_max_ttl_days };
  if (sent === null) return { settings: null, api_key_max_ttl_days: null };
  const { api_key_max_ttl_days: days = api_key_max_ttl_days, ...rest } = sent;
  const merged = sparse({ ...settingsOf(stored), ...rest });
  return {
    settings: rewriteDocument(settings, Object.keys(merged).length === 0 ? null : merged),
    api_key_max_ttl_days: days,
  };
}

/** Nothing that was not set is told. */
export function toldSettings(row: Columns): WorkspaceSettings {
  const days = row.api_key_max_ttl_days;
  return { ...settingsOf(row), ...(days === null ? {} : { api_key_max_ttl_days: days }) };
}

/**
 * Keys that are made by themselves may do no more than whoever says so may; what is said already may be
 * repeated.
 *
 * @throws ApiError `invalid` or `forbidden`.
 */
export function requireGrantableSettings(
  caller: Principal,
  sent: WorkspaceSettings | null | undefined,
  stored: Columns | null,
): void {
  const scopes = sent?.user_api_key_auto_create_scopes;
  if (scopes === undefined || scopes === null) return;
  const kept = stored === null ? [] : (settingsOf(stored).user_api_key_auto_create_scopes ?? []);
  const path = ['settings', 'user_api_key_auto_create_scopes'];
  requireGrantable(caller, scopes, kept, path);
}
