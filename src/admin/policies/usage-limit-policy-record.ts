/**
 * Converts usage-limit policies and their counters to API records, and policies to bodies that would create
 * them.
 */
import { z } from 'zod';
import {
  isExhausted,
  isExhaustedAlertSent,
  isThresholdAlertSent,
} from '../../model/limits/counter-state.ts';
import { Amount, fromUnits, scheduleFields } from '../../model/limits/limits.ts';
import { omitNulls } from '../../model/wire/json-record.ts';
import { formatTimestampOrNull, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type { StoredUsageLimitPolicy } from '../../store/resources/usage-limit-policies.ts';
import { termsOf, windowAt } from '../../store/usage/usage-budgets.ts';
import type { UsageCounter } from '../../store/usage/usage-counters.ts';
import { policyRecordFields, toPolicyRecord, toPolicySpec } from './policy-record.ts';

const EntityStatus = z.enum(['active', 'exhausted']);

/** Items of the list, and the response of get. */
export const UsageLimitPolicyRecord = z.object({
  ...policyRecordFields,
  type: z.enum(['cost', 'tokens', 'requests']),
  credit_limit: Amount,
  alert_threshold: Amount.nullable(),
  on_outage_allowance: Amount.nullable().optional(),
  periodic_reset: z.enum(['weekly', 'monthly']).nullable(),
  periodic_reset_days: scheduleFields.periodic_reset_days.unwrap(),
  next_usage_reset_at: ResponseTimestamp.nullable(),
  last_reset_at: ResponseTimestamp.nullable(),
  /** Present with `include_usage=true` only. */
  value_key_usage_map: z
    .record(
      z.string(),
      z.object({
        current_usage: z.number().min(0),
        status: EntityStatus,
        is_threshold_alerts_sent: z.boolean(),
        is_exhausted_alerts_sent: z.boolean(),
      }),
    )
    .optional(),
  object: z.literal('usage-limits-policy'),
});

/** One counter: the usage of one group of a policy. */
export const UsageEntity = z.object({
  id: z.uuid(),
  value_key: z.string(),
  current_usage: z.number().min(0),
});

/** As of `now`: a window that has ended counts as reset even if the job has not run yet. */
export function usageLimitPolicyToRecord(
  row: StoredUsageLimitPolicy,
  now: number,
): z.infer<typeof UsageLimitPolicyRecord> {
  const { nextResetAtMs, lastResetAtMs } = windowAt(row, now);
  return {
    ...toPolicyRecord(row),
    type: row.type,
    credit_limit: fromUnits(row.credit_limit_units, row.type),
    alert_threshold: thresholdOf(row),
    ...(row.outage_units !== null && { on_outage_allowance: allowanceOf(row) }),
    periodic_reset: row.periodic_reset,
    periodic_reset_days: row.periodic_reset_days,
    next_usage_reset_at: formatTimestampOrNull(nextResetAtMs),
    last_reset_at: formatTimestampOrNull(lastResetAtMs),
    object: 'usage-limits-policy',
  };
}

/** Usage by value key, for `include_usage`. */
export function usageLimitPolicyToUsageMap(
  row: StoredUsageLimitPolicy,
  counters: readonly UsageCounter[],
): NonNullable<z.infer<typeof UsageLimitPolicyRecord>['value_key_usage_map']> {
  const terms = termsOf(row);
  return Object.fromEntries(
    counters.map((counter) => [
      counter.valueKey,
      {
        current_usage: fromUnits(counter.usedUnits, row.type),
        status: isExhausted(counter, terms) ? 'exhausted' : 'active',
        is_threshold_alerts_sent: isThresholdAlertSent(counter, terms),
        is_exhausted_alerts_sent: isExhaustedAlertSent(counter, terms),
      },
    ]),
  );
}

/** One counter: the usage of one group of a policy. */
export function usageLimitPolicyToEntity(
  row: StoredUsageLimitPolicy,
  counter: UsageCounter,
): z.infer<typeof UsageEntity> {
  return {
    id: counter.id,
    value_key: counter.valueKey,
    current_usage: fromUnits(counter.usedUnits, row.type),
  };
}

/**
 * The body that would create this policy, without absent fields; sync compares it with its manifests. The
 * first reset is returned as it was sent, because the next one moves on.
 */
export function usageLimitPolicyToSpec(row: StoredUsageLimitPolicy): Record<string, unknown> {
  return omitNulls({
    ...toPolicySpec(row),
    type: row.type,
    credit_limit: fromUnits(row.credit_limit_units, row.type),
    alert_threshold: thresholdOf(row),
    on_outage_allowance: allowanceOf(row),
    periodic_reset: row.periodic_reset,
    periodic_reset_days: row.periodic_reset_days,
    next_usage_reset_at: formatTimestampOrNull(row.first_reset_at),
  });
}

function allowanceOf({ outage_units: units, type }: StoredUsageLimitPolicy): number | null {
  return units === null ? null : fromUnits(units, type);
}

function thresholdOf(row: StoredUsageLimitPolicy): number | null {
  return row.alert_threshold_units === null ? null : fromUnits(row.alert_threshold_units, row.type);
}
