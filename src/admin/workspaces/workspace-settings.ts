/** Merges the settings of a workspace and converts them for the API. */
import type { Principal } from '../../auth/principal.ts';
import { omitNulls, readDocument, rewriteDocument } from '../../model/wire/json-record.ts';
import type { WorkspaceSettings, WorkspaceUpdate } from '../../model/workspaces/workspace.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import { requireGrantable } from '../access/grantable.ts';
import { workspaceSettingsOf } from '../access/user-keys.ts';

type Columns = Pick<StoredWorkspace, 'settings' | 'api_key_max_ttl_days' | 'security_settings'>;
type SettingsUpdate = Pick<WorkspaceUpdate, 'settings' | 'security_settings'>;

/** Columns of a workspace without settings. */
export const emptySettingColumns: Columns = {
  settings: null,
  api_key_max_ttl_days: null,
  security_settings: null,
};

/** The columns with the sent settings merged key by key; null clears one key, or all keys. */
export function settingColumns(stored: Columns, sent: SettingsUpdate): Columns {
  const { api_key_max_ttl_days: daysStored, settings, security_settings } = stored;
  const { api_key_max_ttl_days: daysSent, ...rest } = sent.settings ?? {};
  const days = daysSent === undefined ? daysStored : daysSent;
  return {
    settings: merged(settings, sent.settings && rest),
    api_key_max_ttl_days: sent.settings === null ? null : days,
    security_settings: merged(security_settings, sent.security_settings),
  };
}

function merged(stored: string | null, sent: object | null | undefined): string | null {
  if (sent === undefined || sent === null) return sent === null ? null : stored;
  const document = omitNulls({ ...readDocument<object>(stored), ...sent });
  return rewriteDocument(stored, Object.keys(document).length === 0 ? null : document);
}

/** Only settings that are set. */
export function settingsOf(row: Omit<Columns, 'security_settings'>): WorkspaceSettings {
  const days = row.api_key_max_ttl_days;
  return { ...workspaceSettingsOf(row), ...(days === null ? {} : { api_key_max_ttl_days: days }) };
}

/**
 * Scopes of automatically created keys must not exceed the author's; the current ones may be repeated.
 *
 * @throws ApiError `invalid` or `forbidden`
 */
export function requireGrantableSettings(
  caller: Principal,
  sent: WorkspaceSettings | null | undefined,
  stored: Columns | null,
): void {
  const scopes = sent?.user_api_key_auto_create_scopes;
  if (scopes === undefined || scopes === null) return;
  const current =
    stored === null ? [] : (workspaceSettingsOf(stored).user_api_key_auto_create_scopes ?? []);
  const path = ['settings', 'user_api_key_auto_create_scopes'];
  requireGrantable(caller, scopes, current, path);
}
