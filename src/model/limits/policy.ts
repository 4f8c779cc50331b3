/** Knows what all policies say: which requests they are about, and which of those are counted together. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { freeText, ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';

const conditionsMax = 50;
const valuesMax = 500;

/** What a request for a model has, and a call of a tool has not. */
export const modelKeys = ['virtual_key', 'provider', 'config', 'prompt', 'model'] as const;
/** What a call of a tool has, and a request for a model has not. */
export const toolKeys = ['mcp_server', 'mcp_tool'] as const;
/** What requests have that policies of every kind may ask for. */
export const requestKeys = [
  'api_key',
  ...modelKeys,
  ...toolKeys,
  'workspace_id',
  'organisation_id',
] as const;

const ConditionValue = z.string().min(1).max(1024);

/** Echoed in the form sent: text or list. */
const ConditionValues = z.union([ConditionValue, z.array(ConditionValue).min(1).max(valuesMax)]);

/** Values of a list are alternatives; conditions must all hold. `*` is any value. */
function conditionOf(keys: readonly string[]) {
  return z.strictObject({
    key: conditionKeyOf(keys),
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
}

function conditionKeyOf(keys: readonly string[]) {
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

/** What tells the requests of a policy from others, by properties of these names or `metadata.<name>`. */
export function conditionsOf(keys: readonly string[]) {
  return z.array(conditionOf(keys)).min(1).max(conditionsMax);
}

/** Each distinct combination of these values is counted apart. */
export function groupingOf(keys: readonly string[]) {
  return z
    .array(z.strictObject({ key: conditionKeyOf(keys) }))
    .min(1)
    .max(conditionsMax);
}

export type Condition = z.infer<ReturnType<typeof conditionOf>>;
export type GroupBy = z.infer<ReturnType<typeof groupingOf>>;

/** Fields of the body that makes a policy. */
export function policyFields(keys: readonly string[]) {
  return {
    ...naming(),
    conditions: described(
      conditionsOf(keys),
      'Which requests are counted: all of these must hold.',
    ),
    group_by: described(
      groupingOf(keys),
      'Each combination of the values of these is counted apart.',
      {
        examples: [[{ key: 'api_key' }]],
      },
    ),
    workspace_id: WorkspaceReference.optional(),
  };
}

/** Fields of the body that changes one: absent stays, null clears. */
export function policyUpdateFields(keys: readonly string[]) {
  return {
    ...naming(),
    conditions: conditionsOf(keys).optional(),
    group_by: groupingOf(keys).optional(),
  };
}

function naming() {
  return {
    name: described(ResourceName.nullable().optional(), 'Name that people see.'),
    description: described(freeText(500).nullable().optional(), 'What the policy is for.'),
  };
}
