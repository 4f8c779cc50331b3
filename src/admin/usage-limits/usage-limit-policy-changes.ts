/** Knows how usage-limit policies are made, changed and archived: each in one transaction with its traces. */
import { ApiError } from '../../model/errors.ts';
import { newId } from '../../model/ids.ts';
import { findLimitFault, fromMicros, type LimitTerms } from '../../model/limits.ts';
import { formatTimestampOrNull, parseTimestamp } from '../../model/timestamp.ts';
import type {
  UsageLimitPolicyCreate,
  UsageLimitPolicyUpdate,
} from '../../model/usage-limit-policy.ts';
import type { Db } from '../../store/connection/db.ts';
import type { UsageSubject } from '../../store/tables/usage-entities.ts';
import * as usageEntities from '../../store/tables/usage-entities.ts';
import * as policies from '../../store/tables/usage-limit-policies.ts';
import {
  type CreateFields,
  requireUpdate,
  requireWorkspace,
  type UpdateFields,
} from '../request/body-fields.ts';
import { type Budget, requireFutureReset, scheduleOf, termsOf } from '../request/budgets.ts';
import { recordChange, requireVersion, sentFields } from '../request/change.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import {
  findOr404,
  idOr404,
  requireOwnOrganisation,
  resolveWorkspaceForWrite,
} from '../request/scoping.ts';

type PolicyRequest<Body, Query = unknown> = AdminRequest<Record<string, string>, Query, Body>;

/** Answers the new policy's id. */
export async function create(
  deps: AdminDeps,
  request: PolicyRequest<UsageLimitPolicyCreate & CreateFields>,
): Promise<{ id: string; object: 'usage-limits-policy' }> {
  const { body, caller, now } = request;
  requireOwnOrganisation(caller, body.organisation_id);
  requireFutureReset(body, now, 'next_usage_reset_at');
  const id = newId();
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
      first_reset_at: firstResetOf(body),
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
      action: 'reset',
      kind: 'UsageLimitPolicy',
      resourceId: row.id,
      workspaceId: row.workspace_id,
      changes: { entity: entityId },
    });
  });
  return {};
}

/** Whose counters those of a policy are. */
export function subjectOf(row: policies.StoredUsageLimitPolicy): UsageSubject {
  return { organisationId: row.organisation_id, kind: 'policy', id: row.id };
}

async function findActive(
  tx: Db,
  { caller, params }: PolicyRequest<unknown>,
): Promise<policies.StoredUsageLimitPolicy> {
  const id = idOr404(params.id!);
  const row = findOr404(caller, await policies.findByIdForUpdate(tx, caller.organisationId, id));
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
  const budget = mergedBudget(body, row);
  const terms = termsOf(budget);
  columns.credit_limit_micros = terms.creditLimitMicros;
  columns.alert_threshold_micros = terms.alertThresholdMicros;
  if (changesSchedule(budget, row)) {
    Object.assign(columns, scheduleOf(budget, now), { first_reset_at: firstResetOf(budget) });
  }
  await policies.update(tx, caller.organisationId, row.id, columns);
  await usageEntities.updateTerms(tx, subjectOf(row), terms);
}

/**
 * The budget after the update. One kind of period, newly sent, takes the other's place; without
 * any period there is no first reset either.
 *
 * @throws ApiError `invalid` when the whole breaks a rule that the sent part alone does not.
 */
function mergedBudget(body: UsageLimitPolicyUpdate, row: policies.StoredUsageLimitPolicy): Budget {
  const sent = definedFields({
    credit_limit: body.credit_limit,
    alert_threshold: body.alert_threshold,
    periodic_reset: body.periodic_reset,
    periodic_reset_days: body.periodic_reset_days,
    next_usage_reset_at: body.next_usage_reset_at,
  });
  const stored = storedBudget(row);
  if (typeof sent.periodic_reset === 'string') stored.periodic_reset_days = null;
  if (typeof sent.periodic_reset_days === 'number') stored.periodic_reset = null;
  const merged: Budget = { ...stored, ...sent };
  const endless = (merged.periodic_reset ?? merged.periodic_reset_days ?? null) === null;
  const budget =
    endless && body.next_usage_reset_at === undefined
      ? { ...merged, next_usage_reset_at: null }
      : merged;
  const fault = findLimitFault(budget);
  if (fault === undefined) return budget;
  throw new ApiError('invalid', `${fault.field}: ${fault.message}`, fault.field);
}

function storedBudget(row: policies.StoredUsageLimitPolicy) {
  const threshold = row.alert_threshold_micros;
  return {
    credit_limit: fromMicros(row.credit_limit_micros),
    alert_threshold: threshold === null ? null : fromMicros(threshold),
    periodic_reset: row.periodic_reset,
    periodic_reset_days: row.periodic_reset_days,
    next_usage_reset_at: formatTimestampOrNull(row.first_reset_at),
  };
}

/** Repeating the present schedule must not postpone the next reset. */
function changesSchedule(budget: Budget, row: policies.StoredUsageLimitPolicy): boolean {
  const stored = storedBudget(row);
  return (
    (budget.periodic_reset ?? null) !== stored.periodic_reset ||
    (budget.periodic_reset_days ?? null) !== stored.periodic_reset_days ||
    (budget.next_usage_reset_at ?? null) !== stored.next_usage_reset_at
  );
}

function firstResetOf(terms: LimitTerms): number | null {
  const first = terms.next_usage_reset_at;
  return typeof first === 'string' ? parseTimestamp(first) : null;
}

function definedFields<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
