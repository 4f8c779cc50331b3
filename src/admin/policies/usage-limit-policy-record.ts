/** Knows what the API tells about a usage-limit policy: record, counters, and the body that would make it. */
import { z } from 'zod';
import {
  isExhausted,
  isExhaustedAlertSent,
  isThresholdAlertSent,
} from '../../model/limits/counter-state.ts';
import { Amount, fromUnits, scheduleFields } from '../../model/limits/limits.ts';
import { withoutNulls } from '../../model/wire/json-record.ts';
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
  periodic_reset: z.enum(['weekly', 'monthly']).nullable(),
  periodic_reset_days: scheduleFields.periodic_reset_days.unwrap(),
  next_usage_reset_at: ResponseTimestamp.nullable(),
  last_reset_at: ResponseTimestamp.nullable(),
  /** With `include_usage=true` only. */
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

/** One counter: what a group of a policy has used. */
export const UsageEntity = z.object({
  id: z.uuid(),
  value_key: z.string(),
  current_usage: z.number().min(0),
});

/** As of `now`: a boundary that has come counts whether or not the job has seen it. */
export function toRecord(
  row: StoredUsageLimitPolicy,
  now: number,
): z.infer<typeof UsageLimitPolicyRecord> {
  const { nextResetAtMs, lastResetAtMs } = windowAt(row, now);
  return {
    ...toPolicyRecord(row),
    type: row.type,
    credit_limit: fromUnits(row.credit_limit_units, row.type),
    alert_threshold: thresholdOf(row),
    periodic_reset: row.periodic_reset,
    periodic_reset_days: row.periodic_reset_days,
    next_usage_reset_at: formatTimestampOrNull(nextResetAtMs),
    last_reset_at: formatTimestampOrNull(lastResetAtMs),
    object: 'usage-limits-policy',
  };
}

/** Usage by value key, for `include_usage`. */
export function toUsageMap(
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

/** One counter of a policy: what one of its groups has used. */
export function toEntity(
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
 * The body that would create this policy, sparse: what the snapshot shows to sync. The first reset
 * is told as it was given, because the next one moves on.
 */
export function toSpec(row: StoredUsageLimitPolicy): Record<string, unknown> {
  return withoutNulls({
    ...toPolicySpec(row),
    type: row.type,
    credit_limit: fromUnits(row.credit_limit_units, row.type),
    alert_threshold: thresholdOf(row),
    periodic_reset: row.periodic_reset,
    periodic_reset_days: row.periodic_reset_days,
    next_usage_reset_at: formatTimestampOrNull(row.first_reset_at),
  });
}

function thresholdOf(row: StoredUsageLimitPolicy): number | null {
  return row.alert_threshold_units === null ? null : fromUnits(row.alert_threshold_units, row.type);
}
