/** Creates and deletes users' API keys when they join or leave a workspace. */
import { makeApiKey, maskApiKey } from '../../model/people/credentials.ts';
import { newId } from '../../model/wire/ids.ts';
import { readDocument } from '../../model/wire/json-record.ts';
import type { WorkspaceSettings } from '../../model/workspaces/workspace.ts';
import type { Db } from '../../store/connection/db.ts';
import type { StoredUser } from '../../store/people/users.ts';
import * as apiKeys from '../../store/resources/api-keys.ts';
import * as organisations from '../../store/resources/organisations.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import { type Author, recordChange } from '../request/change.ts';
import type { AdminDeps } from '../request/deps.ts';
import { closeBudget } from './budgets.ts';

const dayMs = 86_400_000;
const nameLengthMax = 100;

/** Scopes of an automatically created key when the workspace sets none. */
const defaultScopes = ['completions.write'];

export function workspaceSettingsOf({
  settings,
}: Pick<StoredWorkspace, 'settings'>): WorkspaceSettings {
  return readDocument<WorkspaceSettings>(settings) ?? {};
}

/** Whether the workspace allows one more user key; call it while the workspace is locked. */
export async function hasRoomForUserKey(tx: Db, workspace: StoredWorkspace): Promise<boolean> {
  const max = workspaceSettingsOf(workspace).user_api_keys_max ?? null;
  if (max === null) return true;
  return (await apiKeys.countUserKeys(tx, workspace.organisation_id, workspace.id)) < max;
}

/**
 * Creates the key of a new member if the workspace settings or an invite say so and the limit allows it.
 * Its value is never shown: a rotation issues one. `scopes` are those of an invite.
 */
export async function createKeyOfNewMember(
  tx: Db,
  deps: AdminDeps,
  author: Author,
  {
    workspace,
    user,
    scopes,
  }: { workspace: StoredWorkspace; user: StoredUser; scopes?: readonly string[] | undefined },
): Promise<void> {
  const settings = workspaceSettingsOf(workspace);
  const granted =
    scopes ??
    (settings.user_api_key_auto_create === true
      ? (settings.user_api_key_auto_create_scopes ?? defaultScopes)
      : null);
  if (granted === null || !(await hasRoomForUserKey(tx, workspace))) return;
  const value = makeApiKey(deps.apiKeyPrefix);
  const row = {
    id: newId(),
    organisation_id: workspace.organisation_id,
    workspace_id: workspace.id,
    user_id: user.id,
    type: 'workspace-user',
    creation_mode: 'auto',
    name: `Key of ${user.email}`.slice(0, nameLengthMax),
    description: null,
    hash: deps.keyring.hashCredential(value),
    pepper_id: deps.keyring.pepperId,
    key_mask: maskApiKey(value),
    status: 'active',
    scopes: JSON.stringify(granted),
    rate_limits: null,
    usage_limits: null,
    metadata: null,
    config_id: null,
    allow_config_override: null,
    alert_emails: null,
    expires_at: await latestExpiry(tx, workspace, author.now),
    rotation_policy: null,
    rotated_at: null,
    transition_expires_at: null,
    last_reset_at: null,
    last_used_at: null,
    created_by: author.caller.id,
    created_at: author.now,
    last_updated_at: author.now,
  } as const;
  await apiKeys.insert(tx, row);
  await recordChange(tx, deps, author, {
    action: 'create',
    kind: 'ApiKey',
    resourceId: row.id,
    workspaceId: workspace.id,
    changes: { with_member: user.id },
  });
}

/** The latest expiry that organisation and workspace allow; null for none. */
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

/** Deletes all keys of a user, or those in one workspace. */
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
      action: 'delete',
      kind: 'ApiKey',
      resourceId: id,
      workspaceId,
      changes: { with_user: of.userId },
    });
  }
}
