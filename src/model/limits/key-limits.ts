/** Defines the budget and the rate limits of an API key. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { Amount, allowanceField, checkLimitRules, RateLimit, scheduleFields } from './limits.ts';

const rateLimitsMax = 20;

/** Budget of an API key. */
export const UsageLimits = z
  .strictObject({
    // Absent in responses when it was not sent.
    type: described(
      z.enum(['cost', 'tokens']).optional(),
      'What is counted: cost in US dollars, or tokens.',
      { default: 'cost' },
    ),
    credit_limit: described(Amount.min(1), 'Amount at which requests with the key are rejected.', {
      examples: [100],
    }),
    alert_threshold: described(
      Amount.nullable().optional(),
      'Amount at which an alert is sent; at most credit_limit.',
      { examples: [80] },
    ),
    ...allowanceField,
    ...scheduleFields,
  })
  .superRefine(checkLimitRules);
export type UsageLimits = z.infer<typeof UsageLimits>;

function hasNoDuplicates(limits: readonly RateLimit[]): boolean {
  return new Set(limits.map(({ type, unit }) => `${type} ${unit}`)).size === limits.length;
}

/** Rate limits of an API key; each pair of type and unit occurs at most once. */
export const RateLimits = z
  .array(RateLimit)
  .max(rateLimitsMax)
  .refine(hasNoDuplicates, 'must not repeat a pair of type and unit');
export type RateLimits = z.infer<typeof RateLimits>;
