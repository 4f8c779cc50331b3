/** Knows the API keys of people beside their own routes: made when somebody joins, deleted when somebody leaves. */
import { makeApiKey, maskApiKey } from '../../model/credentials.ts';
import { newId } from '../../model/ids.ts';
import { readDocument } from '../../model/json-record.ts';
import type { WorkspaceSettings } from '../../model/workspace.ts';
import type { Db } from '../../store/connection/db.ts';
import * as apiKeys from '../../store/tables/api-keys.ts';
import * as organisations from '../../store/tables/organisations.ts';
import type { StoredUser } from '../../store/tables/users.ts';
import type { StoredWorkspace } from '../../store/tables/workspaces.ts';
import { closeBudget } from './budgets.ts';
import { type Author, recordChange } from './change.ts';
import type { AdminDeps } from './deps.ts';

const dayMs = 86_400_000;
const nameLengthMax = 100;

/** What a key that is made by itself may do where the workspace does not say. */
const usualScopes = ['completions.write'];

export function settingsOf({ settings }: Pick<StoredWorkspace, 'settings'>): WorkspaceSettings {
  return readDocument<WorkspaceSettings>(settings) ?? {};
}

/** Whether the workspace takes one more key of a person; to be asked while nobody else makes one. */
export async function hasRoomForUserKey(tx: Db, workspace: StoredWorkspace): Promise<boolean> {
  const max = settingsOf(workspace).user_api_keys_max ?? null;
  if (max === null) return true;
  return (await apiKeys.countUserKeys(tx, workspace.organisation_id, workspace.id)) < max;
}

/**
 * The key that somebody is given by joining, where the workspace says so and has room for it. Nobody
 * has seen its value: a rotation gives another one. `scopes` are those of an invite.
 */
export async function makeKeyOfNewMember(
  tx: Db,
  deps: AdminDeps,
  author: Author,
  { workspace, user, scopes }: { workspace: StoredWorkspace; user: StoredUser } & Invited,
): Promise<void> {
  const settings = settingsOf(workspace);
  const granted =
    scopes ??
    (settings.user_api_key_auto_create === true
      ? (settings.user_api_key_auto_create_scopes ?? usualScopes)
      : null);
  if (granted === null || !(await hasRoomForUserKey(tx, workspace))) return;
  const value = makeApiKey(deps.apiKeyPrefix);
  const row = {
    ...{ id: newId(), organisation_id: workspace.organisation_id, workspace_id: workspace.id },
    ...({ user_id: user.id, type: 'workspace-user', creation_mode: 'auto' } as const),
    ...{ name: `Key of ${user.email}`.slice(0, nameLengthMax), description: null },
    ...{ hash: deps.keyring.hashCredential(value), pepper_id: deps.keyring.pepperId },
    ...({ key_mask: maskApiKey(value), status: 'active' } as const),
    ...{ scopes: JSON.stringify(granted), rate_limits: null, usage_limits: null, metadata: null },
    ...{ config_id: null, allow_config_override: null, alert_emails: null },
    expires_at: await latestExpiry(tx, workspace, author.now),
    ...{ rotation_policy: null, rotated_at: null, transition_expires_at: null },
    ...{ last_reset_at: null, last_used_at: null, created_by: author.caller.id },
    ...{ created_at: author.now, last_updated_at: author.now },
  };
  await apiKeys.insert(tx, row);
  await recordChange(tx, deps, author, {
    ...{ action: 'create', kind: 'ApiKey', resourceId: row.id, workspaceId: workspace.id },
    changes: { with_member: user.id },
  });
}

interface Invited {
  readonly scopes?: readonly string[] | undefined;
}

/** The end of the longest life that organisation and workspace allow; null for none. */
async function latestExpiry(
  tx: Db,
  workspace: StoredWorkspace,
  now: number,
): Promise<number | null> {
  const organisation = await organisations.findById(tx, workspace.organisation_id);
  const bounds = [organisation?.api_key_max_ttl_days ?? null, workspace.api_key_max_ttl_days];
  const days = Math.min(...bounds.filter((bound) => bound !== null));
  return Number.isFinite(days) ? now + days * dayMs : null;
}

/** Takes away the keys of a person, or those that are in one workspace. */
export async function deleteUserKeys(
  tx: Db,
  deps: AdminDeps,
  author: Author,
  of: { readonly userId: string; readonly workspaceId?: string },
): Promise<void> {
  const { organisationId } = author.caller;
  const keys = await apiKeys.listOfUserForUpdate(tx, organisationId, of.userId, of.workspaceId);
  for (const { id, workspace_id: workspaceId } of keys) {
    await apiKeys.deleteById(tx, organisationId, id);
    await closeBudget(tx, { organisationId, kind: 'api_key', id });
    await recordChange(tx, deps, author, {
      ...{ action: 'delete', kind: 'ApiKey', resourceId: id, workspaceId },
      changes: { with_user: of.userId },
    });
  }
}
