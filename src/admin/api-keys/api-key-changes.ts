/** Creates, updates and deletes API keys, each in one transaction with its audit row. */

import type { UsageLimits } from '../../model/limits/key-limits.ts';
import {
  type ApiKeyCreate,
  type ApiKeyDefaults,
  type ApiKeySubType,
  type ApiKeyType,
  type ApiKeyUpdate,
  apiKeyFaults,
  type RotationPolicy,
} from '../../model/people/api-key.ts';
import { maskApiKey } from '../../model/people/credentials.ts';
import { plannedRotation } from '../../model/people/rotation-times.ts';
import { grantsScope } from '../../model/people/scopes.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { newId } from '../../model/wire/ids.ts';
import { readDocument, rewriteDocument, writeDocument } from '../../model/wire/json-record.ts';
import { parseTimestamp } from '../../model/wire/timestamp.ts';
import { rejectFaults } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as apiKeys from '../../store/resources/api-keys.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import {
  type BudgetOwner,
  changeBudget,
  closeBudget,
  openBudget,
  replacingBudget,
  requireFutureReset,
  resetBudget,
} from '../access/budgets.ts';
import { chooseValue } from '../access/chosen-value.ts';
import { resolveConfig } from '../access/config-access.ts';
import { requireGrantable } from '../access/grantable.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import {
  type BodyRequest,
  type CreateFields,
  type ItemRequest,
  namesOfSentFields,
  type UpdateFields,
} from '../request/frame-fields.ts';
import {
  createResource,
  deleteResource,
  type ResourceWriter,
  updateResource,
} from '../request/resource-change.ts';
import { idOr404, requireOwnOrganisation } from '../request/scoping.ts';
import { requireUnique } from '../request/unique.ts';
import { kindOfKey } from './api-key-record.ts';
import { requireOwnRights } from './api-key-rights.ts';
import { maxDaysOf, requireAllowedExpiry } from './api-key-rules.ts';
import { requireUser, requireUserKeyCapacity } from './api-key-user.ts';

type CreateBody = ApiKeyCreate & CreateFields & { readonly key?: string | undefined };
type UpdateBody = ApiKeyUpdate & UpdateFields;

export type KeyAction = 'create' | 'read' | 'update' | 'delete' | 'list' | 'rotate';

/** `workspace_service_api_keys.create` (docs/reference/access.md, Scopes). */
export function apiKeyScope(type: ApiKeyType, subType: ApiKeySubType, action: KeyAction): string {
  return `${type}_${subType}_api_keys.${action}`;
}

/**
 * @throws ApiError `forbidden` unless the caller may do this to keys of this type. For plain members keys
 *   of others do not exist.
 */
export function requireKeyScope(
  caller: AdminRequest['caller'],
  row: Pick<apiKeys.StoredApiKey, 'type' | 'user_id'>,
  action: KeyAction,
): void {
  const required = apiKeyScope(...kindOfKey(row), action);
  if (!grantsScope(caller.scopes, required)) throw new ApiError('forbidden');
  const { person } = caller;
  if (person === null || person.actsForOthers || row.user_id === person.userId) return;
  throw new ApiError(action === 'create' ? 'forbidden' : 'notFound');
}

/** Returns the key's value, which is never shown again. */
export async function createApiKey(
  deps: AdminDeps,
  request: BodyRequest<CreateBody>,
  type: ApiKeyType,
  subType: ApiKeySubType,
): Promise<{ id: string; key: string; object: 'api-key' }> {
  const { body, caller } = request;
  requireOwnOrganisation(caller, body.organisation_id);
  const user_id = userOf(request, subType);
  requireKeyScope(caller, { type: `${type}-${subType}`, user_id: user_id ?? null }, 'create');
  if (type === 'organisation' && caller.workspaceId !== null) throw new ApiError('forbidden');
  const workspace_id = body.workspace_id ?? caller.workspaceId ?? undefined;
  rejectFaults(apiKeyFaults({ type, sub_type: subType, workspace_id, user_id }));
  requireGrantable(caller, body.scopes, []);
  const key = chooseValue(deps, body, 'key');
  const insert = async (tx: Db, workspace: workspaces.StoredWorkspace | null) => {
    const row = await insertKey(tx, deps, request, {
      key,
      type: `${type}-${subType}` as const,
      workspace,
      userId: user_id ?? null,
    });
    return { row, changes: { fields: namesOfSentFields(body) } };
  };
  // User keys are counted before one is added.
  const hold = type === 'workspace' && subType === 'user' ? 'alone' : 'shared';
  const { id } = await createResource(deps, request, 'ApiKey', insert, hold);
  return { id, key, object: 'api-key' };
}

/** A signed-in user who names no user creates a key of their own. */
function userOf(
  { body, caller }: Pick<BodyRequest<CreateBody>, 'body' | 'caller'>,
  subType: ApiKeySubType,
): string | undefined {
  const isOwn = subType === 'user' && caller.person?.sessionId != null;
  return body.user_id?.toLowerCase() ?? (isOwn ? caller.person.userId : undefined);
}

async function insertKey(
  tx: Db,
  deps: AdminDeps,
  { body, caller, now }: BodyRequest<CreateBody>,
  newKey: {
    readonly key: string;
    readonly type: apiKeys.StoredApiKey['type'];
    readonly userId: string | null;
    readonly workspace: workspaces.StoredWorkspace | null;
  },
): Promise<{ id: string; workspace_id: string | null }> {
  const { key, type, userId, workspace } = newKey;
  const place = { organisation_id: caller.organisationId, workspace_id: workspace?.id ?? null };
  await requireOwnRights(tx, caller, { type, user_id: userId, ...place }, body.scopes);
  await requireUser(tx, caller.organisationId, workspace, userId);
  await requireUserKeyCapacity(tx, workspace, type);
  const expiresAt = typeof body.expires_at === 'string' ? parseTimestamp(body.expires_at) : null;
  await requireAllowedExpiry(tx, caller, maxDaysOf(workspace), expiresAt, now);
  const budget = body.usage_limits ?? null;
  if (budget !== null) requireFutureReset(budget, now, ['usage_limits']);
  const defaults = await defaultColumns(tx, { ...place, ...noDefaults }, body.defaults ?? {});
  const row = {
    id: newId(),
    ...place,
    user_id: userId,
    type,
    name: body.name,
    description: body.description ?? null,
    hash: deps.keyring.hashCredential(key),
    pepper_id: deps.keyring.pepperId,
    key_mask: maskApiKey(key),
    status: 'active' as const,
    creation_mode: 'api' as const,
    scopes: JSON.stringify(body.scopes),
    rate_limits: writeDocument(body.rate_limits),
    usage_limits: writeDocument(budget),
    ...defaults,
    alert_emails: writeDocument(body.alert_emails),
    expires_at: expiresAt,
    rotation_policy: writeDocument(plannedRotation(body.rotation_policy ?? null, null, now)),
    rotated_at: null,
    transition_expires_at: null,
    last_reset_at: null,
    last_used_at: null,
    created_by: caller.id,
    created_at: now,
    last_updated_at: now,
  };
  await requireUnique(apiKeys.insert(tx, row), 'This key exists already', 'key');
  if (budget !== null) await openBudget(tx, ownerOf(row), budget, now);
  return row;
}

function createWriter(subTypes: readonly ApiKeySubType[]): ResourceWriter<apiKeys.StoredApiKey> {
  return {
    kind: 'ApiKey',
    param: 'id',
    lock: async (tx, organisationId, id) =>
      ofSubType(subTypes, await apiKeys.findByIdForUpdate(tx, organisationId, idOr404(id))),
    write: apiKeys.update,
    admit: requireKeyScope,
  };
}

/** The row if it has one of the sub-types, else undefined. */
export function ofSubType(
  subTypes: readonly ApiKeySubType[],
  row: apiKeys.StoredApiKey | undefined,
): apiKeys.StoredApiKey | undefined {
  return row !== undefined && subTypes.includes(kindOfKey(row)[1]) ? row : undefined;
}

/** Returns `{}`. Absent fields stay, null clears. */
export async function updateApiKey(
  deps: AdminDeps,
  request: BodyRequest<UpdateBody>,
  subTypes: readonly ApiKeySubType[],
): Promise<Record<string, never>> {
  const { body, now } = request;
  await updateResource(deps, request, createWriter(subTypes), {
    columns: (tx, row) => columnsOf(tx, request, row),
    follow: async (tx, row, changed) => {
      if (body.usage_limits !== undefined && changed.usage_limits !== undefined) {
        const before = readDocument<UsageLimits>(row.usage_limits);
        const change = { before, after: replacingBudget(body.usage_limits, before) };
        await changeBudget(tx, { deps, author: request }, ownerOf(row), change);
      }
      if (resetsUsage(body)) await resetBudget(tx, ownerOf(row), now);
    },
  });
  return {};
}

async function columnsOf(
  tx: Db,
  request: BodyRequest<UpdateBody>,
  row: apiKeys.StoredApiKey,
): Promise<KeyColumns> {
  const { body, caller, now } = request;
  if (body.scopes !== undefined) {
    const current = JSON.parse(row.scopes) as string[];
    requireGrantable(caller, body.scopes, current);
    const added = body.scopes.filter((scope) => !current.includes(scope));
    await requireOwnRights(tx, caller, row, added);
  }
  const rotation = readDocument<RotationPolicy>(row.rotation_policy);
  return {
    name: body.name,
    description: body.description,
    scopes: rewriteDocument(row.scopes, body.scopes),
    rate_limits: rewriteDocument(row.rate_limits, body.rate_limits),
    usage_limits: rewriteDocument(
      row.usage_limits,
      replacingBudget(body.usage_limits, readDocument<UsageLimits>(row.usage_limits)),
    ),
    alert_emails: rewriteDocument(row.alert_emails, body.alert_emails),
    rotation_policy:
      body.rotation_policy === undefined
        ? row.rotation_policy
        : rewriteDocument(
            row.rotation_policy,
            plannedRotation(body.rotation_policy, rotation, now),
          ),
    last_reset_at: resetsUsage(body) ? now : row.last_reset_at,
    ...(await expiryColumns(tx, request, row)),
    ...(body.defaults === null ? noDefaults : await defaultColumns(tx, row, body.defaults ?? {})),
  };
}

function resetsUsage({ reset_usage: sent }: ApiKeyUpdate): boolean {
  return sent === true || sent === 1;
}

type KeyColumns = Partial<apiKeys.StoredApiKey>;

/** The stored expiry may always be repeated; a new one reactivates an expired key. */
async function expiryColumns(
  tx: Db,
  { body, caller, now }: BodyRequest<UpdateBody>,
  row: apiKeys.StoredApiKey,
): Promise<KeyColumns> {
  if (body.expires_at === undefined) return {};
  const expiresAt = body.expires_at === null ? null : parseTimestamp(body.expires_at);
  if (expiresAt === row.expires_at) return {};
  const workspace =
    row.workspace_id === null
      ? null
      : await workspaces.findByIdOrSlug(tx, caller.organisationId, row.workspace_id);
  await requireAllowedExpiry(tx, caller, maxDaysOf(workspace), expiresAt, now);
  return { expires_at: expiresAt, ...(row.status === 'expired' ? { status: 'active' } : {}) };
}

const noDefaults = { metadata: null, config_id: null, allow_config_override: null } as const;

type DefaultColumns = Pick<
  apiKeys.StoredApiKey,
  'metadata' | 'config_id' | 'allow_config_override'
>;

/** The stored defaults with the sent ones merged in, key by key. */
async function defaultColumns(
  tx: Db,
  row: DefaultColumns & Pick<apiKeys.StoredApiKey, 'organisation_id' | 'workspace_id'>,
  { metadata, config_id: config, allow_config_override: override }: ApiKeyDefaults,
): Promise<DefaultColumns> {
  const columns = { ...row, metadata: rewriteDocument(row.metadata, metadata) };
  if (override !== undefined)
    columns.allow_config_override = override === null ? null : Number(override);
  if (config === null) columns.config_id = null;
  if (typeof config === 'string') {
    const { organisation_id: organisationId, workspace_id: workspaceId } = row;
    const pinning = { organisationId, workspaceId, path: ['defaults', 'config_id'] };
    columns.config_id = await resolveConfig(tx, pinning, config);
  }
  const { config_id, allow_config_override } = columns;
  return { metadata: columns.metadata, config_id, allow_config_override };
}

/** Returns `{}`; the key is invalid as soon as this resolves. */
export async function deleteApiKey(
  deps: AdminDeps,
  request: ItemRequest,
  subTypes: readonly ApiKeySubType[],
): Promise<Record<string, never>> {
  return deleteResource(deps, request, createWriter(subTypes), async (tx, row) => {
    await apiKeys.deleteById(tx, row.organisation_id, row.id);
    await closeBudget(tx, ownerOf(row));
    return { name: row.name };
  });
}

function ownerOf(
  row: Pick<apiKeys.StoredApiKey, 'id' | 'organisation_id' | 'workspace_id'>,
): BudgetOwner {
  const { id, organisation_id: organisationId, workspace_id: workspaceId } = row;
  return { organisationId, kind: 'api_key', id, workspaceId };
}
