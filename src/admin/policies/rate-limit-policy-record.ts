/** Converts rate-limit policies to API records and to the body that would create them. */
import { z } from 'zod';
import { RateLimit } from '../../model/limits/limits.ts';
import { RateTarget } from '../../model/limits/rate-limit-policy.ts';
import { omitNulls } from '../../model/wire/json-record.ts';
import type { StoredRateLimitPolicy } from '../../store/resources/rate-limit-policies.ts';
import { policyRecordFields, toPolicyRecord, toPolicySpec } from './policy-record.ts';

/** Items of the list, and the response of get. */
export const RateLimitPolicyRecord = z.object({
  ...policyRecordFields,
  type: RateLimit.shape.type,
  unit: RateLimit.shape.unit,
  value: z.int().min(1),
  target: RateTarget,
  object: z.literal('rate-limits-policy'),
});

export function rateLimitPolicyToRecord(
  row: StoredRateLimitPolicy,
): z.infer<typeof RateLimitPolicyRecord> {
  return { ...toPolicyRecord(row), ...termsOf(row), object: 'rate-limits-policy' };
}

/** The body that would create this policy, without absent fields; sync compares it with its manifests. */
export function rateLimitPolicyToSpec(row: StoredRateLimitPolicy): Record<string, unknown> {
  return omitNulls({ ...toPolicySpec(row), ...termsOf(row) });
}

function termsOf({ type, unit, value, target }: StoredRateLimitPolicy) {
  return { type, unit, value, target };
}
