/** Defines the bodies that create and update usage-limit policies. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { Amount, allowanceField, checkLimitRules, scheduleFields } from './limits.ts';
import { policyFields, requestKeys } from './policy.ts';

/** The budget, whose fields are on the top level here. */
const limitFields = {
  type: described(
    z.enum(['cost', 'tokens', 'requests']),
    'What is counted: cost in US dollars, tokens or requests.',
  ),
  credit_limit: described(Amount.min(0), 'Amount at which requests are rejected.', {
    examples: [100],
  }),
  alert_threshold: described(
    Amount.nullable().optional(),
    'Amount at which an alert is sent; at most credit_limit.',
    { examples: [80] },
  ),
  ...allowanceField,
  ...scheduleFields,
};

/** Body of POST /policies/usage-limits; its cross-field rules are {@link checkLimitRules}. */
export const UsageLimitPolicyCreate = z.object({
  ...policyFields(requestKeys),
  ...limitFields,
});
export type UsageLimitPolicyCreate = z.infer<typeof UsageLimitPolicyCreate>;

/** Schema of a manifest's spec, including the cross-field rules. */
export function makeUsageLimitPolicySpec(): z.ZodObject {
  return UsageLimitPolicyCreate.strict().superRefine(checkLimitRules);
}

/** Body of PUT /policies/usage-limits/{id}: an absent field is unchanged, null clears it. */
export const UsageLimitPolicyUpdate = UsageLimitPolicyCreate.omit({ workspace_id: true })
  .partial()
  .extend({
    /** An action, not a stored field: resets the usage of one value to zero. */
    reset_usage_for_value: z.string().min(1).max(512).nullable().optional(),
  });
export type UsageLimitPolicyUpdate = z.infer<typeof UsageLimitPolicyUpdate>;
