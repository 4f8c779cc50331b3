/** Knows the bodies by which usage-limit policies are made and changed. */
import { z } from 'zod';
import { described } from './described.ts';
import { Amount, limitRules, scheduleFields } from './limits.ts';
import { freeText, ResourceName, WorkspaceReference } from './resource-fields.ts';

const conditionsMax = 50;
const valuesMax = 500;

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

/** What requests a policy is about: `api_key`, `model`, `metadata.team`, `workspace_id` and so on. */
const conditionKeys = [
  'api_key',
  'virtual_key',
  'provider',
  'config',
  'prompt',
  'model',
  'mcp_server',
  'mcp_tool',
  'workspace_id',
  'organisation_id',
];

const ConditionKey = z
  .string()
  .max(255)
  .regex(
    new RegExp(`^(${conditionKeys.join('|')}|metadata\\.\\S+)$`),
    `must be one of ${conditionKeys.join(', ')} or metadata.<name>`,
  )
  .meta({
    description: `Property of requests: ${conditionKeys.join(', ')} or metadata.<name>.`,
    examples: [...conditionKeys, 'metadata.team'],
  });

const ConditionValue = z.string().min(1).max(1024);

/** Echoed in the form sent: text or list. */
const ConditionValues = z.union([ConditionValue, z.array(ConditionValue).min(1).max(valuesMax)]);

/** Values of a list are alternatives; conditions must all hold. `*` is any value. */
const Condition = z.strictObject({
  key: ConditionKey,
  value: ConditionValues.meta({
    description: 'Value, or a list of which any will do; * is any value.',
    examples: ['*'],
  }),
  excludes: ConditionValues.refine((excluded) => ![excluded].flat().includes('*'), {
    error: 'must not hold *, which would leave out everything',
  })
    .optional()
    .meta({ description: 'Values to leave out of those that value takes in.' }),
});
export type Condition = z.infer<typeof Condition>;

export const Conditions = z.array(Condition).min(1).max(conditionsMax);

/** Each distinct combination of these values is counted apart. */
export const Grouping = z
  .array(z.strictObject({ key: ConditionKey }))
  .min(1)
  .max(conditionsMax);
export type GroupBy = z.infer<typeof Grouping>;

const naming = {
  name: described(ResourceName.nullable().optional(), 'Name that people see.'),
  description: described(freeText(500).nullable().optional(), 'What the policy is for.'),
};

/** Body of POST /policies/usage-limits; its cross-field rules are `limitRules` of model/limits.ts. */
export const UsageLimitPolicyCreate = z.object({
  ...naming,
  conditions: described(Conditions, 'Which requests are counted: all of these must hold.'),
  group_by: described(Grouping, 'Each combination of the values of these is counted apart.', {
    examples: [[{ key: 'api_key' }]],
  }),
  ...limitFields,
  workspace_id: WorkspaceReference.optional(),
});
export type UsageLimitPolicyCreate = z.infer<typeof UsageLimitPolicyCreate>;

/** What a manifest says of a policy, with the rules that bind its fields together. */
export function makeUsageLimitPolicySpec(): z.ZodObject {
  return UsageLimitPolicyCreate.strict().superRefine(limitRules);
}

/** Body of PUT /policies/usage-limits/{id}: absent fields stay, null clears. */
export const UsageLimitPolicyUpdate = z.object({
  ...naming,
  conditions: Conditions.optional(),
  group_by: Grouping.optional(),
  ...limitFields,
  type: limitFields.type.optional(),
  credit_limit: limitFields.credit_limit.optional(),
  /** A trigger, not a field: sets the usage of one value to nought. */
  reset_usage_for_value: z.string().min(1).max(512).nullable().optional(),
});
export type UsageLimitPolicyUpdate = z.infer<typeof UsageLimitPolicyUpdate>;
