/** Knows how API keys are made, changed and deleted: each in one transaction with its traces. */
import type {
  ApiKeyCreate,
  ApiKeyDefaults,
  ApiKeySubType,
  ApiKeyType,
  ApiKeyUpdate,
  RotationPolicy,
} from '../../model/api-key.ts';
import { isWellFormedApiKey, makeApiKey, maskApiKey } from '../../model/credentials.ts';
import { ApiError } from '../../model/errors.ts';
import { newId } from '../../model/ids.ts';
import { readDocument, writeDocument } from '../../model/json-record.ts';
import type { UsageLimits } from '../../model/limits.ts';
import { covers } from '../../model/scopes.ts';
import { parseTimestamp } from '../../model/timestamp.ts';
import type { Db } from '../../store/connection/db.ts';
import * as apiKeys from '../../store/tables/api-keys.ts';
import { isDuplicateEntry } from '../../store/tables/duplicate.ts';
import type { UsageSubject } from '../../store/tables/usage-entities.ts';
import * as usageEntities from '../../store/tables/usage-entities.ts';
import * as workspaces from '../../store/tables/workspaces.ts';
import {
  type CreateFields,
  type ItemRequest,
  requireUpdate,
  requireWorkspace,
  type UpdateFields,
} from '../request/body-fields.ts';
import { changeBudget, openBudget, requireFutureReset } from '../request/budgets.ts';
import { recordChange, requireVersion, sentFields } from '../request/change.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import {
  findOr404,
  idOr404,
  requireOwnOrganisation,
  resolveWorkspaceForWrite,
} from '../request/scoping.ts';
import { kindOfKey } from './api-key-record.ts';
import {
  maxDaysOf,
  plannedRotation,
  requireAllowedExpiry,
  requireGrantable,
  resolveConfig,
} from './api-key-rules.ts';

type CreateBody = ApiKeyCreate & CreateFields & { readonly key?: string | undefined };
type UpdateBody = ApiKeyUpdate & UpdateFields;

type KeyRequest<Body> = AdminRequest<Record<string, string>, unknown, Body>;
type KeyAction = 'create' | 'read' | 'update' | 'delete' | 'list';

/** `workspace_service_api_keys.create` (contract.md 5). */
export function scopeOf(type: ApiKeyType, subType: ApiKeySubType, action: KeyAction): string {
  return `${type}_${subType}_api_keys.${action}`;
}

/** @throws ApiError `forbidden` unless the caller may do this to keys of this type. */
export function authoriseType(
  caller: AdminRequest['caller'],
  row: Pick<apiKeys.StoredApiKey, 'type'>,
  action: KeyAction,
): void {
  const wanted = scopeOf(...kindOfKey(row), action);
  if (!covers(caller.scopes, wanted)) throw new ApiError('forbidden');
}

/** Answers the key's value, the only time that anyone sees it. */
export async function create(
  deps: AdminDeps,
  request: KeyRequest<CreateBody>,
  type: ApiKeyType,
  subType: ApiKeySubType,
): Promise<{ id: string; key: string; object: 'api-key' }> {
  const { body, caller } = request;
  requireOwnOrganisation(caller, body.organisation_id);
  authoriseType(caller, { type: `${type}-${subType}` }, 'create');
  if (subType === 'user' && body.user_id === undefined) {
    throw new ApiError('invalid', 'user_id: is required for a user key', 'user_id');
  }
  requireGrantable(caller, body.scopes, []);
  const key = chooseKey(deps, body);
  const id = newId();
  await deps.database.transaction(async (tx) => {
    const workspaceId = await insertKey(tx, deps, request, { id, key, type, subType });
    await recordChange(tx, deps, request, {
      action: 'create',
      kind: 'ApiKey',
      resourceId: id,
      workspaceId,
      changes: { fields: sentFields(body) },
      managedBy: body.managed_by,
    });
  });
  return { id, key, object: 'api-key' };
}

/** The caller's own value is for crash-safe delivery by sync only; see design/sync.md 4.4. */
function chooseKey(deps: AdminDeps, body: CreateBody): string {
  if (body.key === undefined) return makeApiKey(deps.apiKeyPrefix);
  if (body.managed_by === undefined) {
    throw new ApiError('invalid', 'key: is allowed together with managed_by only', 'key');
  }
  if (!isWellFormedApiKey(body.key)) {
    throw new ApiError('invalid', 'key: is not a well-formed API key', 'key');
  }
  return body.key;
}

async function insertKey(
  tx: Db,
  deps: AdminDeps,
  request: KeyRequest<CreateBody>,
  made: { id: string; key: string; type: ApiKeyType; subType: ApiKeySubType },
): Promise<string | null> {
  const { body, caller, now } = request;
  const workspace = await workspaceFor(tx, request, made.type);
  const workspaceId = workspace?.id ?? null;
  const expiresAt = typeof body.expires_at === 'string' ? parseTimestamp(body.expires_at) : null;
  await requireAllowedExpiry(tx, caller, maxDaysOf(workspace), expiresAt, now);
  const budget = body.usage_limits ?? null;
  if (budget !== null) requireFutureReset(budget, now, 'usage_limits.next_usage_reset_at');
  try {
    await apiKeys.insert(tx, {
      id: made.id,
      organisation_id: caller.organisationId,
      workspace_id: workspaceId,
      user_id: body.user_id?.toLowerCase() ?? null,
      type: `${made.type}-${made.subType}`,
      name: body.name,
      description: body.description ?? null,
      hash: deps.keyring.hashCredential(made.key),
      pepper_id: deps.keyring.pepperId,
      key_mask: maskApiKey(made.key),
      status: 'active',
      creation_mode: 'api',
      scopes: JSON.stringify(body.scopes),
      rate_limits: writeDocument(body.rate_limits),
      usage_limits: writeDocument(budget),
      ...noDefaults,
      ...(await defaultColumns(tx, caller.organisationId, workspaceId, body.defaults ?? {})),
      alert_emails: writeDocument(body.alert_emails),
      expires_at: expiresAt,
      rotation_policy: writeDocument(plannedRotation(body.rotation_policy ?? null, null, now)),
      last_reset_at: null,
      created_by: caller.id,
      created_at: now,
      last_updated_at: now,
    });
  } catch (error) {
    if (isDuplicateEntry(error)) throw new ApiError('conflict', 'This key exists already', 'key');
    throw error;
  }
  if (budget !== null) await openBudget(tx, subjectOf(request, made.id), budget, now);
  return workspaceId;
}

async function workspaceFor(
  tx: Db,
  { caller, body }: KeyRequest<CreateBody>,
  type: ApiKeyType,
): Promise<workspaces.StoredWorkspace | null> {
  if (type === 'organisation') {
    if (caller.workspaceId !== null) throw new ApiError('forbidden');
    if (body.workspace_id === undefined) return null;
    const message = 'workspace_id: an organisation key belongs to no workspace';
    throw new ApiError('invalid', message, 'workspace_id');
  }
  const workspace = await resolveWorkspaceForWrite(tx, caller, body.workspace_id);
  if (workspace !== null) return workspace;
  const message = 'workspace_id: is required for a workspace key';
  throw new ApiError('invalid', message, 'workspace_id');
}

/** Answers `{}`. Absent fields stay, null clears (contract.md 1.6). */
export async function update(
  deps: AdminDeps,
  request: KeyRequest<UpdateBody>,
): Promise<Record<string, never>> {
  const { body, caller, now } = request;
  const id = idOr404(request.params.id!);
  requireUpdate(body);
  const fields = sentFields(body);
  await deps.database.transaction(async (tx) => {
    const found = await apiKeys.findByIdForUpdate(tx, caller.organisationId, id);
    const row = findOr404(caller, found);
    await requireWorkspace(tx, caller, row, body.workspace_id);
    authoriseType(caller, row, 'update');
    requireVersion(request, row.version);
    if (fields.length > 0) {
      const columns = await changedColumns(tx, request, row);
      await apiKeys.update(tx, caller.organisationId, id, { ...columns, last_updated_at: now });
      await keepBudget(tx, request, row);
    }
    await recordChange(tx, deps, request, {
      action: 'update',
      kind: 'ApiKey',
      resourceId: id,
      workspaceId: row.workspace_id,
      changes: { fields },
      managedBy: body.managed_by,
    });
  });
  return {};
}

type KeyColumns = Parameters<typeof apiKeys.update>[3];

async function changedColumns(
  tx: Db,
  request: KeyRequest<UpdateBody>,
  row: apiKeys.StoredApiKey,
): Promise<KeyColumns> {
  const { body, caller, now } = request;
  const columns: KeyColumns = {};
  if (body.name !== undefined) columns.name = body.name;
  if (body.description !== undefined) columns.description = body.description;
  if (body.scopes !== undefined) {
    requireGrantable(caller, body.scopes, JSON.parse(row.scopes) as string[]);
    columns.scopes = JSON.stringify(body.scopes);
  }
  if (body.rate_limits !== undefined) columns.rate_limits = writeDocument(body.rate_limits);
  if (body.usage_limits !== undefined) columns.usage_limits = writeDocument(body.usage_limits);
  if (body.alert_emails !== undefined) columns.alert_emails = writeDocument(body.alert_emails);
  if (body.reset_usage === true) columns.last_reset_at = now;
  if (body.rotation_policy !== undefined) {
    const before = readDocument<RotationPolicy>(row.rotation_policy);
    columns.rotation_policy = writeDocument(plannedRotation(body.rotation_policy, before, now));
  }
  if (body.expires_at !== undefined) {
    Object.assign(columns, await expiryColumns(tx, request, row, body.expires_at));
  }
  const { organisationId } = caller;
  const defaults =
    body.defaults === null
      ? noDefaults
      : await defaultColumns(tx, organisationId, row.workspace_id, body.defaults ?? {});
  return { ...columns, ...defaults };
}

/** Repeating the stored expiry is always allowed; a new one brings an expired key back. */
async function expiryColumns(
  tx: Db,
  { caller, now }: KeyRequest<UpdateBody>,
  row: apiKeys.StoredApiKey,
  sent: string | null,
): Promise<KeyColumns> {
  const expiresAt = sent === null ? null : parseTimestamp(sent);
  if (expiresAt === row.expires_at) return {};
  const workspace =
    row.workspace_id === null
      ? null
      : await workspaces.findByIdOrSlug(tx, caller.organisationId, row.workspace_id);
  await requireAllowedExpiry(tx, caller, maxDaysOf(workspace), expiresAt, now);
  return { expires_at: expiresAt, ...(row.status === 'expired' ? { status: 'active' } : {}) };
}

const noDefaults = { metadata: null, config_id: null, allow_config_override: null } as const;

/** Columns of those defaults that were sent: `defaults` is merged key by key. */
async function defaultColumns(
  tx: Db,
  organisationId: string,
  workspaceId: string | null,
  sent: ApiKeyDefaults,
): Promise<KeyColumns> {
  const columns: KeyColumns = {};
  if (sent.metadata !== undefined) columns.metadata = writeDocument(sent.metadata);
  if (sent.allow_config_override !== undefined) {
    const flag = sent.allow_config_override;
    columns.allow_config_override = flag === null ? null : Number(flag);
  }
  if (sent.config_id !== undefined) {
    columns.config_id =
      sent.config_id === null
        ? null
        : await resolveConfig(tx, organisationId, workspaceId, sent.config_id);
  }
  return columns;
}

async function keepBudget(
  tx: Db,
  request: KeyRequest<UpdateBody>,
  row: apiKeys.StoredApiKey,
): Promise<void> {
  const { body, now } = request;
  const subject = subjectOf(request, row.id);
  if (body.usage_limits !== undefined) {
    const change = {
      before: readDocument<UsageLimits>(row.usage_limits),
      after: body.usage_limits,
    };
    await changeBudget(tx, subject, change, now);
  }
  if (body.reset_usage === true) await usageEntities.reset(tx, subject, { valueKey: '' }, now);
}

/** Answers `{}`; the key works no longer from the moment this answers. */
export async function remove(
  deps: AdminDeps,
  request: ItemRequest,
): Promise<Record<string, never>> {
  const { caller } = request;
  const id = idOr404(request.params.id!);
  await deps.database.transaction(async (tx) => {
    const found = await apiKeys.findByIdForUpdate(tx, caller.organisationId, id);
    const row = findOr404(caller, found);
    await requireWorkspace(tx, caller, row, request.query.workspace_id);
    authoriseType(caller, row, 'delete');
    requireVersion(request, row.version);
    await apiKeys.deleteById(tx, caller.organisationId, id);
    await usageEntities.deleteBySubject(tx, subjectOf(request, id));
    await recordChange(tx, deps, request, {
      action: 'delete',
      kind: 'ApiKey',
      resourceId: id,
      workspaceId: row.workspace_id,
      changes: { name: row.name },
    });
  });
  return {};
}

function subjectOf({ caller }: KeyRequest<unknown>, id: string): UsageSubject {
  return { organisationId: caller.organisationId, kind: 'api_key', id };
}
