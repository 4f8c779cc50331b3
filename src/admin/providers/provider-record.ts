/** Converts providers to API records and to the body that would create them again. */
import { z } from 'zod';
import { RateLimits, UsageLimits } from '../../model/limits/key-limits.ts';
import { mappingsAsSent, SecretMapping } from '../../model/secrets/secret-mapping.ts';
import { JsonRecord, omitNulls, readDocument } from '../../model/wire/json-record.ts';
import {
  formatTimestamp,
  formatTimestampOrNull,
  ResponseTimestamp,
} from '../../model/wire/timestamp.ts';

import type { StoredIntegration } from '../../store/resources/integrations.ts';
import type { StoredProvider } from '../../store/resources/providers.ts';
import type { BudgetState } from '../../store/usage/usage-budgets.ts';

const shape = {
  id: z.uuid(),
  slug: z.string(),
  name: z.string(),
  note: z.string().nullable(),
  organisation_id: z.uuid(),
  workspace_id: z.uuid(),
  integration_id: z.uuid(),
  /** Slug of the service. */
  ai_provider_name: z.string(),
  status: z.enum(['active', 'exhausted', 'expired']),
  /** Always empty; `masked_api_key` is that of the integration. */
  key: z.literal(''),
  masked_api_key: z.string(),
  model_config: JsonRecord,
  secret_mappings: z.array(SecretMapping),
  /** A provider without tags shows the tags of its integration. */
  tags: JsonRecord.nullable(),
  usage_limits: UsageLimits.nullable(),
  rate_limits: RateLimits,
  reset_usage: z.null(),
  next_usage_reset_at: ResponseTimestamp.nullable(),
  last_reset_at: ResponseTimestamp.nullable(),
  expires_at: ResponseTimestamp.nullable(),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
};

/** Response of get. */
export const ProviderRecord = z.object({ ...shape, object: z.literal('provider') });

/** Items of the list: clients expect null for no limits there, and some do not accept an empty list. */
export const ProviderItem = ProviderRecord.extend({ rate_limits: RateLimits.nullable() });

export function providerToItem<P extends { readonly rate_limits: RateLimits }>(record: P) {
  const { rate_limits: limits } = record;
  return { ...record, rate_limits: limits.length === 0 ? null : limits };
}

/**
 * `budget` is the provider's current budget state, if it has a budget. Fields that were not sent stay null.
 */
export function providerToFields(
  row: StoredProvider,
  integration: StoredIntegration,
  budget: BudgetState | undefined,
  now: number,
) {
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    note: row.note,
    organisation_id: row.organisation_id,
    workspace_id: row.workspace_id,
    integration_id: row.integration_id,
    ai_provider_name: integration.ai_provider,
    status: statusOf(row, budget, now),
    key: '' as const,
    masked_api_key: integration.key_mask ?? '',
    model_config: {},
    secret_mappings: mappingsAsSent(integration.secret_mappings),
    tags: readDocument<JsonRecord>(row.tags ?? integration.tags),
    usage_limits: readDocument<UsageLimits>(row.usage_limits),
    rate_limits: readDocument<RateLimits>(row.rate_limits) ?? [],
    reset_usage: null,
    next_usage_reset_at: formatTimestampOrNull(budget?.nextResetAt ?? null),
    last_reset_at: formatTimestampOrNull(lastResetOf(row, budget)),
    expires_at: formatTimestampOrNull(row.expires_at),
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
  };
}

/** The body that would create this provider, without absent fields; sync compares it with its manifests. */
export function providerToSpec(row: StoredProvider): Record<string, unknown> {
  const usageLimits = readDocument<UsageLimits>(row.usage_limits);
  return omitNulls({
    name: row.name,
    slug: row.slug,
    integration_id: row.integration_id,
    workspace_id: row.workspace_id,
    note: row.note,
    usage_limits: usageLimits === null ? null : omitNulls(usageLimits),
    rate_limits: readDocument<RateLimits>(row.rate_limits),
    expires_at: formatTimestampOrNull(row.expires_at),
    tags: readDocument<JsonRecord>(row.tags),
  });
}

/** Expiry and exhaustion depend on the time only, not on whether a job has processed them. */
function statusOf(
  row: StoredProvider,
  budget: BudgetState | undefined,
  now: number,
): 'active' | 'exhausted' | 'expired' {
  if (row.expires_at !== null && row.expires_at <= now) return 'expired';
  return budget?.isExhausted === true ? 'exhausted' : 'active';
}

function lastResetOf(row: StoredProvider, budget: BudgetState | undefined): number | null {
  const times = [row.last_reset_at, budget?.lastResetAt ?? null].filter((at) => at !== null);
  return times.length === 0 ? null : Math.max(...times);
}
