/** Defines the bodies that create and update rate-limit policies, and the rules that depend on the target. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import type { Fault } from '../wire/fault.ts';
import { RateLimit } from './limits.ts';
import {
  type GroupBy,
  modelKeys,
  type PolicyCondition,
  policyFields,
  requestKeys,
  toolKeys,
} from './policy.ts';

/** Properties that conditions and groups of a rate-limit policy can use. */
export const rateKeys = [...requestKeys, 'endpoint_type'] as const;

export const RateTarget = z.enum(['llm', 'mcp_tools']);
export type RateTarget = z.infer<typeof RateTarget>;

const { type, unit } = RateLimit.shape;

/** Body of POST /policies/rate-limits; its cross-field rules are {@link checkTargetRules}. */
export const RateLimitPolicyCreate = z.object({
  ...policyFields(rateKeys),
  type,
  unit,
  value: described(z.int().min(1), 'Maximum requests or tokens in that period.', {
    examples: [60],
  }),
  target: described(
    RateTarget.optional(),
    'What is limited: inference requests, or calls of MCP tools.',
    { default: 'llm' },
  ),
});
export type RateLimitPolicyCreate = z.infer<typeof RateLimitPolicyCreate>;

/** Schema of a manifest's spec, including the cross-field rules. */
export function makeRateLimitPolicySpec(): z.ZodObject {
  return RateLimitPolicyCreate.strict().superRefine(checkTargetRules);
}

/** Body of PUT /policies/rate-limits/{id}: an absent field is unchanged, null clears it. */
export const RateLimitPolicyUpdate = RateLimitPolicyCreate.omit({
  target: true,
  workspace_id: true,
}).partial();
export type RateLimitPolicyUpdate = z.infer<typeof RateLimitPolicyUpdate>;

/** The fields of a policy that depend on its target. */
interface TargetTerms {
  readonly target?: RateTarget | undefined;
  readonly conditions?: readonly Pick<PolicyCondition, 'key'>[] | undefined;
  readonly group_by?: GroupBy | undefined;
}

/** Properties that requests of each target never have. */
const foreignKeys: Readonly<Record<RateTarget, readonly string[]>> = {
  llm: toolKeys,
  mcp_tools: [...modelKeys, 'endpoint_type'],
};
const targetNames = { llm: 'inference requests', mcp_tools: 'calls of MCP tools' } as const;

/** Rejects properties that no request of the target has, with which the policy would never match. */
export function targetFaults({
  target = 'llm',
  conditions = [],
  group_by: groups = [],
}: TargetTerms): Fault[] {
  const foreign = foreignKeys[target];
  const message = `must not be one of ${foreign.join(', ')}, which ${targetNames[target]} do not have (target: ${target})`;
  const faultsIn = (field: string, list: readonly { readonly key: string }[]): Fault[] =>
    list.flatMap(({ key }, at) =>
      foreign.includes(key) ? [{ path: [field, at, 'key'], message }] : [],
    );
  return [...faultsIn('conditions', conditions), ...faultsIn('group_by', groups)];
}

/** Refinement for schemas of rate-limit policies. */
export function checkTargetRules(terms: TargetTerms, ctx: z.RefinementCtx): void {
  for (const { path, message } of targetFaults(terms)) {
    ctx.addIssue({ code: 'custom', path: [...path], message });
  }
}
