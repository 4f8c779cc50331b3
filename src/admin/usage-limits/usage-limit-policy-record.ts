/** Knows what the API tells about a usage-limit policy: record, counters, and the body that would make it. */
import { z } from 'zod';
import { sparse } from '../../model/json-record.ts';
import { fromMicros } from '../../model/limits.ts';
import { formatTimestamp, formatTimestampOrNull } from '../../model/timestamp.ts';
import {
  type Condition,
  Conditions,
  type GroupBy,
  Grouping,
} from '../../model/usage-limit-policy.ts';
import type { StoredUsageEntity } from '../../store/tables/usage-entities.ts';
import type { StoredUsageLimitPolicy } from '../../store/tables/usage-limit-policies.ts';

const EntityStatus = z.enum(['active', 'exhausted']);

/** Items of the list, and the response of get. */
export const UsageLimitPolicyRecord = z.object({
  id: z.uuid(),
  name: z.string().nullable(),
  description: z.string().nullable(),
  organisation_id: z.uuid(),
  workspace_id: z.uuid().nullable(),
  conditions: Conditions,
  group_by: Grouping,
  type: z.enum(['cost', 'tokens', 'requests']),
  credit_limit: z.number(),
  alert_threshold: z.number().nullable(),
  periodic_reset: z.enum(['weekly', 'monthly']).nullable(),
  periodic_reset_days: z.int().nullable(),
  next_usage_reset_at: z.string().nullable(),
  last_reset_at: z.string().nullable(),
  status: z.enum(['active', 'archived']),
  created_at: z.string(),
  last_updated_at: z.string(),
  /** With `include_usage=true` only. */
  value_key_usage_map: z
    .record(
      z.string(),
      z.object({
        current_usage: z.number(),
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
  current_usage: z.number(),
});

export function toRecord(row: StoredUsageLimitPolicy): z.infer<typeof UsageLimitPolicyRecord> {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    organisation_id: row.organisation_id,
    workspace_id: row.workspace_id,
    conditions: JSON.parse(row.conditions) as Condition[],
    group_by: JSON.parse(row.group_by) as GroupBy,
    type: row.type,
    credit_limit: fromMicros(row.credit_limit_micros),
    alert_threshold: thresholdOf(row),
    periodic_reset: row.periodic_reset,
    periodic_reset_days: row.periodic_reset_days,
    next_usage_reset_at: formatTimestampOrNull(row.next_reset_at),
    last_reset_at: formatTimestampOrNull(row.last_reset_at),
    status: row.status,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
    object: 'usage-limits-policy',
  };
}

/** Usage by value key, for `include_usage`. */
export function toUsageMap(
  entities: readonly StoredUsageEntity[],
): NonNullable<z.infer<typeof UsageLimitPolicyRecord>['value_key_usage_map']> {
  return Object.fromEntries(
    entities.map((entity) => [
      entity.value_key,
      {
        current_usage: fromMicros(entity.used_micros),
        status: entity.status,
        is_threshold_alerts_sent: entity.threshold_alert_sent !== 0,
        is_exhausted_alerts_sent: entity.exhausted_alert_sent !== 0,
      },
    ]),
  );
}

/** One counter of a policy: what one of its groups has used. */
export function toEntity(entity: StoredUsageEntity): z.infer<typeof UsageEntity> {
  return {
    id: entity.id,
    value_key: entity.value_key,
    current_usage: fromMicros(entity.used_micros),
  };
}

/**
 * The body that would create this policy, sparse: what the snapshot shows to sync. The first reset
 * is told as it was given, because the next one moves on.
 */
export function toSpec(row: StoredUsageLimitPolicy): Record<string, unknown> {
  return sparse({
    name: row.name,
    description: row.description,
    workspace_id: row.workspace_id,
    conditions: JSON.parse(row.conditions),
    group_by: JSON.parse(row.group_by),
    type: row.type,
    credit_limit: fromMicros(row.credit_limit_micros),
    alert_threshold: thresholdOf(row),
    periodic_reset: row.periodic_reset,
    periodic_reset_days: row.periodic_reset_days,
    next_usage_reset_at: formatTimestampOrNull(row.first_reset_at),
  });
}

function thresholdOf(row: StoredUsageLimitPolicy): number | null {
  return row.alert_threshold_micros === null ? null : fromMicros(row.alert_threshold_micros);
}
