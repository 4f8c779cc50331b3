/** Knows the budget and the rate limits of a workspace. */
import { z } from 'zod';
import { amountMax, limitRules, RateLimit, scheduleFields } from './limits.ts';

/** Budget of a workspace: whole amounts, in a list of at most one. */
export const WorkspaceUsageLimits = z
  .array(
    z
      .strictObject({
        type: z.enum(['cost', 'tokens']).optional(),
        credit_limit: z.int().min(1).max(amountMax),
        alert_threshold: z.int().min(1).max(amountMax).nullable().optional(),
        ...scheduleFields,
      })
      .superRefine(limitRules),
  )
  .max(1);
export type WorkspaceUsageLimits = z.infer<typeof WorkspaceUsageLimits>;

/** Rate limits of a workspace: a list of at most one. */
export const WorkspaceRateLimits = z.array(RateLimit).max(1);
