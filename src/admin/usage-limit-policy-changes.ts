/** Knows how usage-limit policies are made, changed and archived: each in one transaction with its traces. */
import { randomUUID } from 'node:crypto';
import { ApiError } from '../model/errors.ts';
import { findLimitFault, fromMicros, type LimitTerms } from '../model/limits.ts';
import type { ManagedBy } from '../model/managed-by.ts';
import type { UsageLimitPolicyCreate, UsageLimitPolicyUpdate } from '../model/usage-limit-policy.ts';
import type { Db } from '../store/db.ts';
import type { UsageSubject } from '../store/usage-entities.ts';
import * as usageEntities from '../store/usage-entities.ts';
import * as policies from '../store/usage-limit-policies.ts';
import { requireUpdate, requireWorkspace } from './body-fields.ts';
import { requireFutureReset, scheduleOf, termsOf } from './budgets.ts';
import { recordChange, requireVersion } from './change.ts';
import type { AdminDeps, AdminRequest } from './deps.ts';
import { findOr404, idOr404, requireOwnOrganisation, resolveWorkspaceForWrite } from './scoping.ts';

interface CreateFields {
  readonly managed_by?: ManagedBy | undefined;
  readonly organisation_id?: string | undefined;
}

interface UpdateFields {
  readonly managed_by?: ManagedBy | undefined;
  readonly workspace_id?: string | null | undefined;
}

type PolicyRequest<Body, Query = unknown> = AdminRequest<Record<string, string>, Query, Body>;

export async function create(
  deps: AdminDeps,
  request: PolicyRequest<UsageLimitPolicyCreate & CreateFields>,
): Promise<{ id: string; object: 'usage-limits-policy' }> {
  const { body, caller, now } = request;
  requireOwnOrganisation(caller, body.organisation_id);
  requireFutureReset({ before: null, after: body }, now, 'next_usage_reset_at');
  const id = randomUUID();
  const terms = termsOf(body);
  await deps.database.transaction(async (tx) => {
    const workspace = await resolveWorkspaceForWrite(tx, caller, body.workspace_id);
    if (workspace === null) {
      const message = 'workspace_id: is required with a credential of the organisation';
      throw new ApiError('invalid', message, 'workspace_id');
    }
    await policies.insert(tx, {
      id,
      organisation_id: caller.organisationId,
      workspace_id: workspace.id,
      name: body.name ?? null,
      description: body.description ?? null,
      conditions: JSON.stringify(body.conditions),
      group_by: JSON.stringify(body.group_by),
      type: body.type,
      credit_limit_micros: terms.creditLimitMicros,
      alert_threshold_micros: terms.alertThresholdMicros,
      ...scheduleOf(body, now),
      last_reset_at: null,
      status: 'active',
      created_at: now,
      last_updated_at: now,
    });
    await recordChange(tx, deps, request, {
      action: 'create',
      kind: 'UsageLimitPolicy',
      resourceId: id,
      workspaceId: workspace.id,
      changes: { fields: sentFields(body) },
      managedBy: body.managed_by,
    });
  });
  return { id, object: 'usage-limits-policy' };
}

/** Answers `{}`. Absent fields stay, null clears; counters follow the new limit at once. */
export async function update(
  deps: AdminDeps,
  request: PolicyRequest<UsageLimitPolicyUpdate & UpdateFields>,
): Promise<Record<string, never>> {
  const { body, caller, now } = request;
  requireUpdate(body);
  const fields = sentFields(body);
  await deps.database.transaction(async (tx) => {
    const row = await findActive(tx, request);
    await requireWorkspace(tx, caller, row, body.workspace_id);
    requireVersion(request, row.version);
    if (fields.length > 0) await applyUpdate(tx, request, row);
    if (typeof body.reset_usage_for_value === 'string') {
      const target = { valueKey: body.reset_usage_for_value };
      await usageEntities.reset(tx, subjectOf(row), target, now);
    }
    await recordChange(tx, deps, request, {
      action: 'update',
      kind: 'UsageLimitPolicy',
      resourceId: row.id,
      workspaceId: row.workspace_id,
      changes: { fields },
      managedBy: body.managed_by,
    });
  });
  return {};
}

/** Archives the policy and answers `{}`; its counters stay for the record. */
export async function remove(
  deps: AdminDeps,
  request: PolicyRequest<unknown, { workspace_id?: string | undefined }>,
): Promise<Record<string, never>> {
  const { caller, now, query } = request;
  await deps.database.transaction(async (tx) => {
    const row = await findActive(tx, request);
    await requireWorkspace(tx, caller, row, query.workspace_id);
    requireVersion(request, row.version);
    await policies.update(tx, caller.organisationId, row.id, {
      status: 'archived',
      last_updated_at: now,
    });
    await recordChange(tx, deps, request, {
      action: 'delete',
      kind: 'UsageLimitPolicy',
      resourceId: row.id,
      workspaceId: row.workspace_id,
      changes: { name: row.name },
    });
  });
  return {};
}

/** Sets one counter of the policy to nought and answers `{}`. */
export async function resetEntity(
  deps: AdminDeps,
  request: PolicyRequest<unknown>,
): Promise<Record<string, never>> {
  const { now } = request;
  const entityId = idOr404(request.params.entityId!);
  await deps.database.transaction(async (tx) => {
    const row = await findActive(tx, request);
    if (!(await usageEntities.reset(tx, subjectOf(row), { id: entityId }, now))) {
      throw new ApiError('notFound');
    }
    await recordChange(tx, deps, request, {
      action: 'update',
      kind: 'UsageLimitPolicy',
      resourceId: row.id,
      workspaceId: row.workspace_id,
      changes: { reset_entity: entityId },
      mark: 'counters',
    });
  });
  return {};
}

export function subjectOf(row: policies.StoredUsageLimitPolicy): UsageSubject {
  return { organisationId: row.organisation_id, kind: 'policy', id: row.id };
}

async function findActive(
  tx: Db,
  { caller, params }: PolicyRequest<unknown>,
): Promise<policies.StoredUsageLimitPolicy> {
  const id = idOr404(params.id!);
  const row = findOr404(caller, await policies.findForUpdate(tx, caller.organisationId, id));
  if (row.status !== 'active') throw new ApiError('notFound');
  return row;
}

type PolicyColumns = Parameters<typeof policies.update>[3];

async function applyUpdate(
  tx: Db,
  { body, caller, now }: PolicyRequest<UsageLimitPolicyUpdate>,
  row: policies.StoredUsageLimitPolicy,
): Promise<void> {
  const columns: PolicyColumns = { last_updated_at: now };
  if (body.name !== undefined) columns.name = body.name;
  if (body.description !== undefined) columns.description = body.description;
  if (body.conditions !== undefined) columns.conditions = JSON.stringify(body.conditions);
  if (body.group_by !== undefined) columns.group_by = JSON.stringify(body.group_by);
  if (body.type !== undefined) columns.type = body.type;
  const merged = mergedTerms(body, row, now);
  const terms = termsOf(merged);
  columns.credit_limit_micros = terms.creditLimitMicros;
  columns.alert_threshold_micros = terms.alertThresholdMicros;
  if (changesSchedule(merged, body, row)) Object.assign(columns, scheduleOf(merged, now));
  await policies.update(tx, caller.organisationId, row.id, columns);
  await usageEntities.updateTerms(tx, subjectOf(row), terms);
}

/**
 * The budget after the update. One kind of period, newly sent, takes the other's place.
 *
 * @throws ApiError `invalid` when the whole breaks a rule that the sent part alone does not.
 */
function mergedTerms(
  body: UsageLimitPolicyUpdate,
  row: policies.StoredUsageLimitPolicy,
  now: number,
): LimitTerms & { credit_limit: number } {
  const threshold = row.alert_threshold_micros;
  const stored = {
    credit_limit: fromMicros(row.credit_limit_micros),
    alert_threshold: threshold === null ? null : fromMicros(threshold),
    periodic_reset: typeof body.periodic_reset_days === 'number' ? null : row.periodic_reset,
    periodic_reset_days: typeof body.periodic_reset === 'string' ? null : row.periodic_reset_days,
  };
  const { credit_limit, alert_threshold, periodic_reset, periodic_reset_days } = body;
  const sent = { credit_limit, alert_threshold, periodic_reset, periodic_reset_days };
  const merged = { ...stored, ...withoutAbsent(sent) };
  const first = body.next_usage_reset_at;
  const next = row.next_reset_at === null ? null : new Date(row.next_reset_at).toISOString();
  requireFutureReset(
    { before: { next_usage_reset_at: next }, after: { next_usage_reset_at: first } },
    now,
    'next_usage_reset_at',
  );
  const terms = { ...merged, next_usage_reset_at: first };
  const fault = findLimitFault(terms);
  if (fault === undefined) return terms;
  throw new ApiError('invalid', `${fault.field}: ${fault.message}`, fault.field);
}

/** Repeating the present schedule must not postpone the next reset. */
function changesSchedule(
  merged: LimitTerms,
  body: UsageLimitPolicyUpdate,
  row: policies.StoredUsageLimitPolicy,
): boolean {
  return (
    typeof body.next_usage_reset_at === 'string' ||
    (merged.periodic_reset ?? null) !== row.periodic_reset ||
    (merged.periodic_reset_days ?? null) !== row.periodic_reset_days
  );
}

function withoutAbsent<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { [K in keyof T]: Exclude<T[K], undefined> };
}

function sentFields(body: object): string[] {
  return Object.entries(body)
    .filter(([field, value]) => value !== undefined && !unstored.includes(field))
    .map(([field]) => field);
}

const unstored = ['managed_by', 'organisation_id'];
