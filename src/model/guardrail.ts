/** Knows the bodies by which guardrails are made and changed. */
import { z } from 'zod';
import { ResourceName, WorkspaceReference } from './resource-fields.ts';

/** Most checks one guardrail may hold. */
const checksMax = 100;

export const GuardrailTarget = z.enum(['llm', 'mcp_tools']);
export type GuardrailTarget = z.infer<typeof GuardrailTarget>;

/** One check as sent. Ids outside the catalogue are kept and answered, never refused. */
export const GuardrailCheck = z.strictObject({
  id: z.string().min(1).max(255),
  name: z.string().max(255).optional(),
  is_enabled: z.boolean().optional(),
  parameters: z.record(z.string(), z.unknown()).optional(),
});
export type GuardrailCheck = z.infer<typeof GuardrailCheck>;

const Feedback = z.looseObject({
  value: z.number().optional(),
  weight: z.number().optional(),
  metadata: z.string().optional(),
});

/** What a verdict leads to; clients keep keys of their own here, so unknown ones stay. */
export const GuardrailActions = z.looseObject({
  deny: z.boolean().optional(),
  async: z.boolean().optional(),
  sequential: z.boolean().optional(),
  on_success: z.looseObject({ feedback: Feedback.optional() }).optional(),
  on_fail: z.looseObject({ feedback: Feedback.optional() }).optional(),
});
export type GuardrailActions = z.infer<typeof GuardrailActions>;

/**
 * Body of POST /guardrails. `target` is `llm` when absent and cannot change; only a guardrail on tools
 * may be without checks.
 */
export const GuardrailCreate = z.object({
  name: ResourceName,
  target: GuardrailTarget.optional(),
  checks: z.array(GuardrailCheck).max(checksMax).optional(),
  actions: GuardrailActions.optional(),
  workspace_id: WorkspaceReference.optional(),
});
export type GuardrailCreate = z.infer<typeof GuardrailCreate>;

/**
 * Body of PUT /guardrails/{id}. A check without an `id` takes the id of the
 * stored check of the same name.
 */
export const GuardrailUpdate = z.object({
  name: ResourceName.optional(),
  checks: z
    .array(GuardrailCheck.extend({ id: GuardrailCheck.shape.id.optional() }))
    .max(checksMax)
    .optional(),
  actions: GuardrailActions.optional(),
});
export type GuardrailUpdate = z.infer<typeof GuardrailUpdate>;
