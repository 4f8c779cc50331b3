/** Creates, updates and archives usage-limit policies, each in one transaction with its audit row. */

import type { Reply } from '../../http/routes/route.ts';
import { findLimitFault, fromUnits, type LimitFields } from '../../model/limits/limits.ts';
import type {
  UsageLimitPolicyCreate,
  UsageLimitPolicyUpdate,
} from '../../model/limits/usage-limit-policy.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { formatTimestampOrNull, parseTimestamp } from '../../model/wire/timestamp.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import * as policies from '../../store/resources/usage-limit-policies.ts';
import { windowAt } from '../../store/usage/usage-budgets.ts';
import * as usageCounters from '../../store/usage/usage-counters.ts';
import * as usageWindows from '../../store/usage/usage-windows.ts';
import {
  type BudgetFields,
  moveToCurrentWindow,
  requireFutureReset,
  scheduleOf,
  termColumnsOf,
} from '../access/budgets.ts';
import { recordChange } from '../request/change.ts';
import type { AdminDeps } from '../request/deps.ts';
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
import { findOr404, idOr404 } from '../request/scoping.ts';
import { requireVersion } from '../request/version.ts';
import { activeOnly, changedPolicy, newPolicy } from './shared-policy.ts';
import { withServerWarnings } from './unknown-servers.ts';

interface PolicyReceipt {
  readonly id: string;
  readonly object: 'usage-limits-policy';
}

/** Returns the id of the new policy. */
export async function createUsageLimitPolicy(
  deps: AdminDeps,
  request: BodyRequest<UsageLimitPolicyCreate & CreateFields>,
): Promise<PolicyReceipt | Reply<PolicyReceipt>> {
  const { body, now } = request;
  requireFutureReset(body, now);
  const made = await createResource(deps, request, 'UsageLimitPolicy', async (tx, workspace) => {
    const row = {
      ...newPolicy(request, workspace),
      type: body.type,
      ...termColumnsOf(body),
      ...scheduleOf(body, now),
      first_reset_at: firstResetOf(body),
      window_start: now,
      last_reset_at: null,
    };
    await policies.insert(tx, row);
    return { row, changes: { fields: namesOfSentFields(body) } };
  });
  const reply = { id: made.id, object: 'usage-limits-policy' as const };
  return await withServerWarnings(deps.database.readable, made, body.conditions, reply);
}

const findActive = activeOnly(policies.findByIdForUpdate);

const writer: ResourceWriter<policies.StoredUsageLimitPolicy> = {
  kind: 'UsageLimitPolicy',
  param: 'id',
  lock: findActive,
  write: policies.update,
};

/** Returns `{}`. Absent fields stay, null clears; counters are compared with the new limit at once. */
export async function updateUsageLimitPolicy(
  deps: AdminDeps,
  request: BodyRequest<UsageLimitPolicyUpdate & UpdateFields>,
): Promise<Record<string, never> | Reply<Record<string, never>>> {
  const { body, now } = request;
  const { reset_usage_for_value: valueKey } = body;
  const updated = await updateResource(deps, request, writer, {
    columns: async (tx, row) => {
      await moveToCurrentWindow(
        tx,
        { deps, author: request },
        { table, subject: subjectOf(row), row },
      );
      return columnsOf(body, row, now);
    },
    triggers: typeof valueKey === 'string' ? ['reset_usage_for_value'] : [],
    follow: async (tx, row, changed) => {
      // Dollars and tokens cannot be added, so another type starts a new window.
      if (changed.type !== undefined) await usageWindows.restart(tx, table, subjectOf(row), now);
      else if (typeof valueKey === 'string') {
        const id = usageCounters.counterId(row.id, valueKey);
        await usageCounters.reset(tx, windowOf(row, now), id, now);
      }
    },
  });
  return await withServerWarnings(deps.database.readable, updated, body.conditions, {});
}

/** Archives the policy and returns `{}`. Its window ends; its counters are deleted after the usual time. */
export async function deleteUsageLimitPolicy(
  deps: AdminDeps,
  request: ItemRequest,
): Promise<Record<string, never>> {
  return deleteResource(deps, request, writer, async (tx, row) => {
    await usageWindows.end(tx, table, subjectOf(row), request.now);
    await policies.update(tx, row.organisation_id, row.id, {
      status: 'archived',
      last_updated_at: request.now,
    });
    return { name: row.name };
  });
}

/** Sets one counter of the policy to zero and returns `{}`. */
export async function resetEntity(
  deps: AdminDeps,
  request: BodyRequest<undefined>,
): Promise<Record<string, never>> {
  const { caller, params, now } = request;
  const entityId = idOr404(params.entityId!);
  await deps.database.transaction(async (tx) => {
    const row = findOr404(caller, await findActive(tx, caller.organisationId, params.id!));
    requireVersion(request, row.version);
    if (!(await usageCounters.reset(tx, windowOf(row, now), entityId, now))) {
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

const table = 'usage_limit_policies';

function subjectOf(row: policies.StoredUsageLimitPolicy): usageCounters.UsageSubject {
  return { organisationId: row.organisation_id, kind: 'policy', id: row.id };
}

/** The window of a policy's counters at `now`. */
export function windowOf(
  row: policies.StoredUsageLimitPolicy,
  now: number,
): usageCounters.WindowSubject {
  return { ...subjectOf(row), windowStart: windowAt(row, now).startMs };
}

function columnsOf(
  body: UsageLimitPolicyUpdate,
  row: policies.StoredUsageLimitPolicy,
  now: number,
): Partial<policies.StoredUsageLimitPolicy> {
  const budget = mergedBudget(body, row);
  return {
    ...changedPolicy(body, row),
    type: body.type,
    ...termColumnsOf(budget),
    ...(changesSchedule(budget, row)
      ? { ...scheduleOf(budget, now), first_reset_at: firstResetOf(budget) }
      : {}),
  };
}

/**
 * The budget after the update. A newly sent kind of period replaces the other kind; without a period there
 * is no first reset.
 *
 * @throws ApiError `invalid` when the merged budget breaks a rule that the sent part does not break
 */
function mergedBudget(
  body: UsageLimitPolicyUpdate,
  row: policies.StoredUsageLimitPolicy,
): BudgetFields {
  const sent = definedFields({
    type: body.type,
    credit_limit: body.credit_limit,
    alert_threshold: body.alert_threshold,
    on_outage_allowance: body.on_outage_allowance,
    periodic_reset: body.periodic_reset,
    periodic_reset_days: body.periodic_reset_days,
    next_usage_reset_at: body.next_usage_reset_at,
  });
  const stored = storedBudget(row);
  // In another type it would be another amount.
  if (sent.type !== undefined && sent.type !== row.type) stored.on_outage_allowance = null;
  if (typeof sent.periodic_reset === 'string') stored.periodic_reset_days = null;
  if (typeof sent.periodic_reset_days === 'number') stored.periodic_reset = null;
  const merged: BudgetFields = { ...stored, ...sent };
  const endless = (merged.periodic_reset ?? merged.periodic_reset_days ?? null) === null;
  const budget =
    endless && body.next_usage_reset_at === undefined
      ? { ...merged, next_usage_reset_at: null }
      : merged;
  const fault = findLimitFault(budget);
  if (fault === undefined) return budget;
  throw validationError({ path: [fault.field], message: fault.message });
}

function storedBudget(row: policies.StoredUsageLimitPolicy) {
  const { type, credit_limit_units: limit, alert_threshold_units: threshold } = row;
  const { outage_units: allowance } = row;
  return {
    type,
    credit_limit: fromUnits(limit, type),
    alert_threshold: threshold === null ? null : fromUnits(threshold, type),
    on_outage_allowance: allowance === null ? null : fromUnits(allowance, type),
    periodic_reset: row.periodic_reset,
    periodic_reset_days: row.periodic_reset_days,
    next_usage_reset_at: formatTimestampOrNull(row.first_reset_at),
  };
}

/** Repeating the current schedule must not postpone the next reset. */
function changesSchedule(budget: BudgetFields, row: policies.StoredUsageLimitPolicy): boolean {
  const stored = storedBudget(row);
  return (
    (budget.periodic_reset ?? null) !== stored.periodic_reset ||
    (budget.periodic_reset_days ?? null) !== stored.periodic_reset_days ||
    (budget.next_usage_reset_at ?? null) !== stored.next_usage_reset_at
  );
}

function firstResetOf(terms: LimitFields): number | null {
  const first = terms.next_usage_reset_at;
  return typeof first === 'string' ? parseTimestamp(first) : null;
}

function definedFields<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
