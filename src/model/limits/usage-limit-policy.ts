/** Knows the bodies by which usage-limit policies are made and changed. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { Amount, limitRules, scheduleFields } from './limits.ts';
import { policyFields, policyUpdateFields, requestKeys } from './policy.ts';

/** The budget, whose fields stand beside the others here. */
const limitFields = {
  type: described(
    z.enum(['cost', 'tokens', 'requests']),
    'What is counted: cost in US dollars, tokens or requests.',
  ),
  credit_limit: described(Amount.min(0), 'Amount at which requests are refused.', {
    examples: [100],
  }),
  alert_threshold: described(
    Amount.nullable().optional(),
    'Amount at which the recipients of alerts are told; at most credit_limit.',
    { examples: [80] },
  ),
  ...scheduleFields,
};

/** Body of POST /policies/usage-limits; its cross-field rules are `limitRules` of model/limits.ts. */
export const UsageLimitPolicyCreate = z.object({
  ...policyFields(requestKeys),
  ...limitFields,
});
export type UsageLimitPolicyCreate = z.infer<typeof UsageLimitPolicyCreate>;

/** What a manifest says of a policy, with the rules that bind its fields together. */
export function makeUsageLimitPolicySpec(): z.ZodObject {
  return UsageLimitPolicyCreate.strict().superRefine(limitRules);
}

/** Body of PUT /policies/usage-limits/{id}: absent fields stay, null clears. */
export const UsageLimitPolicyUpdate = z.object({
  ...policyUpdateFields(requestKeys),
  ...limitFields,
  type: limitFields.type.optional(),
  credit_limit: limitFields.credit_limit.optional(),
  /** A trigger, not a field: sets the usage of one value to nought. */
  reset_usage_for_value: z.string().min(1).max(512).nullable().optional(),
});
export type UsageLimitPolicyUpdate = z.infer<typeof UsageLimitPolicyUpdate>;
