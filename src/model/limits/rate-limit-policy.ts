/** Knows the bodies by which rate-limit policies are made and changed, and what a target may ask of requests. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import type { Fault } from '../wire/fault.ts';
import { RateLimit } from './limits.ts';
import {
  type Condition,
  type GroupBy,
  modelKeys,
  policyFields,
  policyUpdateFields,
  requestKeys,
  toolKeys,
} from './policy.ts';

/** What the conditions and groups of a rate-limit policy may ask for. */
export const rateKeys = [...requestKeys, 'endpoint_type'] as const;

export const RateTarget = z.enum(['llm', 'mcp_tools']);
export type RateTarget = z.infer<typeof RateTarget>;

const { type, unit } = RateLimit.shape;

const rateFields = {
  type,
  unit,
  value: described(z.int().min(1), 'Most requests or tokens in that time.', { examples: [60] }),
};

/** Body of POST /policies/rate-limits; its cross-field rules are {@link targetRules}. */
export const RateLimitPolicyCreate = z.object({
  ...policyFields(rateKeys),
  ...rateFields,
  target: described(
    RateTarget.optional(),
    'What is limited: requests for models, or calls of MCP tools.',
    { default: 'llm' },
  ),
});
export type RateLimitPolicyCreate = z.infer<typeof RateLimitPolicyCreate>;

/** What a manifest says of a policy, with the rules that bind its fields together. */
export function makeRateLimitPolicySpec(): z.ZodObject {
  return RateLimitPolicyCreate.strict().superRefine(targetRules);
}

/** Body of PUT /policies/rate-limits/{id}: absent fields stay, null clears. */
export const RateLimitPolicyUpdate = z.object({
  ...policyUpdateFields(rateKeys),
  type: rateFields.type.optional(),
  unit: rateFields.unit.optional(),
  value: rateFields.value.optional(),
});
export type RateLimitPolicyUpdate = z.infer<typeof RateLimitPolicyUpdate>;

/** The part of a policy that its target binds. */
interface TargetTerms {
  readonly target?: RateTarget | undefined;
  readonly conditions?: readonly Pick<Condition, 'key'>[] | undefined;
  readonly group_by?: GroupBy | undefined;
}

/** The properties of each target that requests of the other never have. */
const foreignKeys: Readonly<Record<RateTarget, readonly string[]>> = {
  llm: toolKeys,
  mcp_tools: [...modelKeys, 'endpoint_type'],
};
const lacking = { llm: 'requests for models', mcp_tools: 'calls of MCP tools' } as const;

/** What no request of the target has, so that the policy would never hold. */
export function targetFaults({
  target = 'llm',
  conditions = [],
  group_by: groups = [],
}: TargetTerms): Fault[] {
  const foreign = foreignKeys[target];
  const message = `must not be one of ${foreign.join(', ')}, which ${lacking[target]} do not have (target: ${target})`;
  const faultsIn = (field: string, list: readonly { readonly key: string }[]): Fault[] =>
    list.flatMap(({ key }, at) =>
      foreign.includes(key) ? [{ path: [field, at, 'key'], message }] : [],
    );
  return [...faultsIn('conditions', conditions), ...faultsIn('group_by', groups)];
}

/** Refinement for a schema of policies. */
export function targetRules(terms: TargetTerms, ctx: z.RefinementCtx): void {
  for (const { path, message } of targetFaults(terms)) {
    ctx.addIssue({ code: 'custom', path: [...path], message });
  }
}
