/** Defines the fields that all policies share: conditions that select requests, and grouping. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { freeText, ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';

const conditionsMax = 50;
const valuesMax = 500;

/** Properties that inference requests have and MCP tool calls lack. */
export const modelKeys = ['virtual_key', 'provider', 'config', 'prompt', 'model'] as const;
/** Properties that MCP tool calls have and inference requests lack. */
export const toolKeys = ['mcp_server', 'mcp_tool'] as const;
/** Properties that policies of every kind can test. */
export const requestKeys = [
  'api_key',
  ...modelKeys,
  ...toolKeys,
  'workspace_id',
  'organisation_id',
] as const;

const ConditionValue = z.string().min(1).max(1024);

/** A text or a list; responses repeat the form that was sent. */
const ConditionValues = z.union([ConditionValue, z.array(ConditionValue).min(1).max(valuesMax)]);

/** A condition matches any value of its list; all conditions must match. `*` matches any value. */
function conditionSchema(keys: readonly string[]) {
  return z.strictObject({
    key: conditionKeySchema(keys),
    value: ConditionValues.meta({
      description: 'Value, or a list of alternatives; * matches any value.',
      examples: ['*'],
    }),
    excludes: ConditionValues.refine((excluded) => ![excluded].flat().includes('*'), {
      error: 'must not contain *, which would exclude everything',
    })
      .optional()
      .meta({ description: 'Values that are excluded although value matches them.' }),
  });
}

function conditionKeySchema(keys: readonly string[]) {
  return z
    .string()
    .max(255)
    .regex(
      new RegExp(`^(${keys.join('|')}|metadata\\.\\S+)$`),
      `must be one of ${keys.join(', ')} or metadata.<name>`,
    )
    .meta({
      description: `Property of requests: ${keys.join(', ')} or metadata.<name>.`,
      examples: [...keys, 'metadata.team'],
    });
}

/** Conditions that select the requests of a policy, by these properties or `metadata.<name>`. */
export function conditionsSchema(keys: readonly string[]) {
  return z.array(conditionSchema(keys)).min(1).max(conditionsMax);
}

/** Each distinct combination of these values has its own counter. */
export function groupBySchema(keys: readonly string[]) {
  return z
    .array(z.strictObject({ key: conditionKeySchema(keys) }))
    .min(1)
    .max(conditionsMax);
}

export type PolicyCondition = z.infer<ReturnType<typeof conditionSchema>>;
export type GroupBy = z.infer<ReturnType<typeof groupBySchema>>;

/** Fields of the body that creates a policy. */
export function policyFields(keys: readonly string[]) {
  return {
    name: described(ResourceName.nullable().optional(), 'Display name.'),
    description: described(freeText(500).nullable().optional(), 'Purpose of the policy.'),
    conditions: described(
      conditionsSchema(keys),
      'Conditions that select the counted requests; all must match.',
    ),
    group_by: described(
      groupBySchema(keys),
      'Each combination of the values of these properties is counted separately.',
      {
        examples: [[{ key: 'api_key' }]],
      },
    ),
    workspace_id: WorkspaceReference.optional(),
  };
}
