/** Knows the budget and the rate limits of an API key. */
import { z } from 'zod';
import { Amount, limitRules, RateLimit, scheduleFields } from './limits.ts';

const rateLimitsMax = 20;

/** Budget of an API key; an object there. */
export const UsageLimits = z
  .strictObject({
    /** What is counted; stays absent in answers when not sent. */
    type: z.enum(['cost', 'tokens']).optional(),
    credit_limit: Amount.min(1),
    alert_threshold: Amount.nullable().optional(),
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
