/** Knows the budget and the rate limits of a workspace. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { amountMax, limitRules, RateLimit, scheduleFields } from './limits.ts';

const terms = z.strictObject({
  type: described(
    z.enum(['cost', 'tokens']).optional(),
    'What is counted: cost in US dollars, or tokens.',
    { default: 'cost' },
  ),
  credit_limit: described(
    z.int().min(1).max(amountMax),
    'Whole amount at which the keys of the workspace are refused.',
    { examples: [1000] },
  ),
  alert_threshold: described(
    z.int().min(1).max(amountMax).nullable().optional(),
    'Whole amount at which the recipients of alerts are told; at most credit_limit.',
    { examples: [800] },
  ),
  ...scheduleFields,
});

/** Budget of a workspace: whole amounts, in a list of at most one. */
export const WorkspaceUsageLimits = z.array(terms.superRefine(limitRules)).max(1);
export type WorkspaceUsageLimits = z.infer<typeof WorkspaceUsageLimits>;

/**
 * Budget of a workspace for one integration. Clients send thresholds above its limit, which they take for
 * percentages: such an amount is kept, and never reached.
 */
export const GrantUsageLimits = z
  .array(
    terms
      .extend({
        alert_threshold: described(
          terms.shape.alert_threshold.clone(),
          'Whole amount at which the recipients of alerts are told; never where it is above credit_limit.',
          { examples: [800] },
        ),
      })
      .superRefine((grant, ctx) => limitRules({ ...grant, alert_threshold: null }, ctx)),
  )
  .max(1);

/** Rate limits of a workspace: a list of at most one. */
export const WorkspaceRateLimits = z.array(RateLimit).max(1);
