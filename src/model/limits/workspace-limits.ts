/** Defines the budget and the rate limits of a workspace. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { allowanceField, amountMax, checkLimitRules, RateLimit, scheduleFields } from './limits.ts';

const terms = z.strictObject({
  type: described(
    z.enum(['cost', 'tokens']).optional(),
    'What is counted: cost in US dollars, or tokens.',
    { default: 'cost' },
  ),
  credit_limit: described(
    z.int().min(1).max(amountMax),
    'Whole amount at which requests of the workspace are rejected.',
    { examples: [1000] },
  ),
  alert_threshold: described(
    z.int().min(1).max(amountMax).nullable().optional(),
    'Whole amount at which an alert is sent; at most credit_limit.',
    { examples: [800] },
  ),
  ...allowanceField,
  ...scheduleFields,
});

/** Budget of a workspace: whole amounts. */
export const WorkspaceBudget = terms.superRefine(checkLimitRules);

/** Responses contain a budget in a list of at most one. */
export const WorkspaceUsageLimits = z.array(WorkspaceBudget).max(1);
export type WorkspaceUsageLimits = z.infer<typeof WorkspaceUsageLimits>;

/**
 * Budget of a workspace for one integration. Clients send thresholds above its limit because they
 * treat them as percentages. Such a threshold is stored and never reached.
 */
export const GrantBudget = terms
  .extend({
    alert_threshold: described(
      terms.shape.alert_threshold.clone(),
      'Whole amount at which an alert is sent; never sent if it is above credit_limit.',
      { examples: [800] },
    ),
  })
  .superRefine((grant, ctx) => checkLimitRules({ ...grant, alert_threshold: null }, ctx));

export const GrantUsageLimits = z.array(GrantBudget).max(1);

/** Requests may contain a budget alone, as for keys and providers, or in the list that responses contain. */
export const WorkspaceUsageLimitsInput = z.union([
  WorkspaceUsageLimits,
  WorkspaceBudget.transform((budget) => [budget]),
]);
export const GrantUsageLimitsInput = z.union([
  GrantUsageLimits,
  GrantBudget.transform((budget) => [budget]),
]);

/** Rate limits of a workspace: a list of at most one. */
export const WorkspaceRateLimits = z.array(RateLimit).max(1);
