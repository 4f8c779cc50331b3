/** Knows the budget and the rate limits of an API key. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { Amount, limitRules, RateLimit, scheduleFields } from './limits.ts';

const rateLimitsMax = 20;

/** Budget of an API key; an object there. */
export const UsageLimits = z
  .strictObject({
    // Stays absent in answers when not sent.
    type: described(
      z.enum(['cost', 'tokens']).optional(),
      'What is counted: cost in US dollars, or tokens.',
      { default: 'cost' },
    ),
    credit_limit: described(Amount.min(1), 'Amount at which the key is refused.', {
      examples: [100],
    }),
    alert_threshold: described(
      Amount.nullable().optional(),
      'Amount at which the recipients of alerts are told; at most credit_limit.',
      { examples: [80] },
    ),
    ...scheduleFields,
  })
  .superRefine(limitRules);
export type UsageLimits = z.infer<typeof UsageLimits>;

function isFreeOfRepeats(limits: readonly RateLimit[]): boolean {
  return new Set(limits.map(({ type, unit }) => `${type} ${unit}`)).size === limits.length;
}

/** Rate limits of an API key; a pair of type and unit once. */
export const RateLimits = z
  .array(RateLimit)
  .max(rateLimitsMax)
  .refine(isFreeOfRepeats, 'must not repeat a pair of type and unit');
export type RateLimits = z.infer<typeof RateLimits>;
