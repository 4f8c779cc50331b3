/** Knows the bodies by which usage-limit policies are made and changed. */
import { z } from 'zod';
import { Amount, limitRules, scheduleFields } from './limits.ts';
import { freeText, ResourceName, WorkspaceReference } from './resource-fields.ts';

const conditionsMax = 50;
const valuesMax = 500;

/** The budget, whose fields stand beside the others here. */
const limitFields = {
  type: z.enum(['cost', 'tokens', 'requests']),
  credit_limit: Amount,
  alert_threshold: Amount.nullable().optional(),
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
  );

const ConditionValue = z.string().min(1).max(1024);

/** Echoed in the form sent: text or list. */
const ConditionValues = z.union([ConditionValue, z.array(ConditionValue).min(1).max(valuesMax)]);

/** Values of a list are alternatives; conditions must all hold. `*` is any value. */
const Condition = z.strictObject({
  key: ConditionKey,
  value: ConditionValues,
  /** Values to leave out of those that `value` takes in. */
  excludes: ConditionValues.refine((excluded) => ![excluded].flat().includes('*'), {
    error: 'must not hold *, which would leave out everything',
  }).optional(),
});
export type Condition = z.infer<typeof Condition>;

export const Conditions = z.array(Condition).min(1).max(conditionsMax);

/** Each distinct combination of these values is counted apart. */
export const Grouping = z
  .array(z.strictObject({ key: ConditionKey }))
  .min(1)
  .max(conditionsMax);
export type GroupBy = z.infer<typeof Grouping>;

const described = {
  name: ResourceName.nullable().optional(),
  description: freeText(500).nullable().optional(),
};

/** Body of POST /policies/usage-limits; its cross-field rules are `limitRules` of model/limits.ts. */
export const UsageLimitPolicyCreate = z.object({
  ...described,
  conditions: Conditions,
  group_by: Grouping,
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
  ...described,
  conditions: Conditions.optional(),
  group_by: Grouping.optional(),
  ...limitFields,
  type: limitFields.type.optional(),
  credit_limit: limitFields.credit_limit.optional(),
  /** A trigger, not a field: sets the usage of one value to nought. */
  reset_usage_for_value: z.string().min(1).max(512).nullable().optional(),
});
export type UsageLimitPolicyUpdate = z.infer<typeof UsageLimitPolicyUpdate>;
