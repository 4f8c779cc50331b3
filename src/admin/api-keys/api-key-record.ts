/** Converts API keys to API records and to the body that would create them again. */
import { z } from 'zod';
import { RateLimits, UsageLimits } from '../../model/limits/key-limits.ts';
import { fromUnits } from '../../model/limits/limits.ts';
import { type ApiKeySubType, type ApiKeyType, RotationPolicy } from '../../model/people/api-key.ts';
import { JsonRecord, omitNulls, readDocument } from '../../model/wire/json-record.ts';
import { Flag } from '../../model/wire/resource-fields.ts';
import {
  formatTimestamp,
  formatTimestampOrNull,
  ResponseTimestamp,
} from '../../model/wire/timestamp.ts';
import type { StoredApiKey } from '../../store/resources/api-keys.ts';
import type { BudgetState } from '../../store/usage/usage-budgets.ts';
import { sentRotationPolicy } from '../access/rotation-record.ts';

/** Response of get, and items of the list. */
export const ApiKeyRecord = z.object({
  id: z.uuid(),
  /** Masked: first two and last three characters. */
  key: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  type: z.enum([
    'organisation-service',
    'organisation-user',
    'workspace-service',
    'workspace-user',
  ]),
  organisation_id: z.uuid(),
  workspace_id: z.uuid().nullable(),
  user_id: z.uuid().nullable(),
  status: z.enum(['active', 'exhausted', 'expired']),
  creation_mode: z.enum(['ui', 'api', 'auto']),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
  scopes: z.array(z.string()),
  rate_limits: RateLimits,
  usage_limits: UsageLimits.nullable(),
  reset_usage: z.null(),
  expires_at: ResponseTimestamp.nullable(),
  last_reset_at: ResponseTimestamp.nullable(),
  next_usage_reset_at: ResponseTimestamp.nullable(),
  /** Use in the current window, in the unit of `usage_limits`; null without a budget. */
  current_usage: z.number().min(0).nullable(),
  last_used_at: ResponseTimestamp.nullable(),
  alert_emails: z.array(z.string()).nullable(),
  expiry_enforced: z.literal(0),
  allow_config_override: Flag.nullable(),
  api_key_defaults_id: z.null(),
  defaults: z.object({
    metadata: JsonRecord.nullable(),
    config_id: z.uuid().nullable(),
    allow_config_override: z.boolean().optional(),
  }),
  rotation_policy: RotationPolicy.nullable(),
  /** Absent for a key that was never rotated. */
  rotated_at: ResponseTimestamp.optional(),
  /** End of the previous value; null while the current value awaits its delivery. */
  key_transition_expires_at: ResponseTimestamp.nullable().optional(),
  object: z.literal('api-key'),
});

/** `budget` is the key's current budget state, if it has a budget. Fields that were not sent stay null. */
export function apiKeyToRecord(
  row: StoredApiKey,
  budget: BudgetState | undefined,
  now: number,
): z.infer<typeof ApiKeyRecord> {
  return {
    id: row.id,
    key: row.key_mask,
    name: row.name,
    description: row.description,
    type: row.type,
    organisation_id: row.organisation_id,
    workspace_id: row.workspace_id,
    user_id: row.user_id,
    status: statusOf(row, budget, now),
    creation_mode: row.creation_mode,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
    scopes: scopesOf(row),
    rate_limits: readDocument<RateLimits>(row.rate_limits) ?? [],
    usage_limits: readDocument<UsageLimits>(row.usage_limits),
    reset_usage: null,
    expires_at: formatTimestampOrNull(row.expires_at),
    last_reset_at: formatTimestampOrNull(lastResetAt(row, budget)),
    next_usage_reset_at: formatTimestampOrNull(budget?.nextResetAt ?? null),
    current_usage: budget === undefined ? null : fromUnits(budget.usedUnits, budget.type),
    last_used_at: formatTimestampOrNull(row.last_used_at),
    alert_emails: readDocument<string[]>(row.alert_emails),
    expiry_enforced: 0,
    allow_config_override: flagOf(row),
    api_key_defaults_id: null,
    defaults: {
      metadata: readDocument<JsonRecord>(row.metadata),
      config_id: row.config_id,
      ...(row.allow_config_override === null
        ? {}
        : { allow_config_override: row.allow_config_override === 1 }),
    },
    rotation_policy: readDocument<RotationPolicy>(row.rotation_policy),
    ...(row.rotated_at === null
      ? {}
      : {
          rotated_at: formatTimestamp(row.rotated_at),
          key_transition_expires_at: formatTimestampOrNull(row.transition_expires_at),
        }),
    object: 'api-key',
  };
}

/**
 * The body that would create this key, without absent fields and with UUIDs as references; `type` and
 * `sub_type` are the two path values. Sync compares it with its manifests.
 */
export function apiKeyToSpec(row: StoredApiKey): Record<string, unknown> {
  const [type, subType] = kindOfKey(row);
  const defaults = omitNulls({
    metadata: readDocument<JsonRecord>(row.metadata),
    config_id: row.config_id,
    allow_config_override: row.allow_config_override === null ? null : flagOf(row) === 1,
  });
  return omitNulls({
    type,
    sub_type: subType,
    name: row.name,
    scopes: scopesOf(row),
    workspace_id: row.workspace_id,
    user_id: row.user_id,
    description: row.description,
    rate_limits: readDocument<RateLimits>(row.rate_limits),
    usage_limits: sparseOrNull(readDocument<UsageLimits>(row.usage_limits)),
    defaults: Object.keys(defaults).length === 0 ? null : defaults,
    alert_emails: readDocument<string[]>(row.alert_emails),
    expires_at: formatTimestampOrNull(row.expires_at),
    rotation_policy: sentRotationPolicy(row),
  });
}

/** `['workspace', 'service']`: the path values of the key's creation. */
export function kindOfKey(row: Pick<StoredApiKey, 'type'>): [ApiKeyType, ApiKeySubType] {
  return row.type.split('-') as [ApiKeyType, ApiKeySubType];
}

function sparseOrNull(fields: object | null): Record<string, unknown> | null {
  return fields === null ? null : omitNulls(fields as Record<string, unknown>);
}

/** Expiry and exhaustion depend on the time only, not on whether a job has processed them. */
function statusOf(
  row: StoredApiKey,
  budget: BudgetState | undefined,
  now: number,
): z.infer<typeof ApiKeyRecord>['status'] {
  if (row.status === 'expired' || (row.expires_at !== null && row.expires_at <= now)) {
    return 'expired';
  }
  return budget?.isExhausted === true ? 'exhausted' : 'active';
}

function lastResetAt(row: StoredApiKey, budget: BudgetState | undefined): number | null {
  const times = [row.last_reset_at, budget?.lastResetAt ?? null].filter((at) => at !== null);
  return times.length === 0 ? null : Math.max(...times);
}

function scopesOf(row: StoredApiKey): string[] {
  return JSON.parse(row.scopes) as string[];
}

function flagOf(row: StoredApiKey): 0 | 1 | null {
  if (row.allow_config_override === null) return null;
  return row.allow_config_override === 0 ? 0 : 1;
}
