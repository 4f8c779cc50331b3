/** Knows the bodies by which guardrails are made and changed. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';

/** Most checks one guardrail may hold. */
const checksMax = 100;

export const GuardrailTarget = z.enum(['llm', 'mcp_tools']);
export type GuardrailTarget = z.infer<typeof GuardrailTarget>;

/** One check as sent. Ids outside the catalogue are kept and answered, never refused. */
export const GuardrailCheck = z.strictObject({
  id: described(z.string().min(1).max(255), 'Which check: one of the catalogue, or of a partner.', {
    examples: ['default.contains'],
  }),
  name: described(z.string().max(255).optional(), 'Name of the check within the guardrail.'),
  is_enabled: described(z.boolean().optional(), 'Whether the check runs.', { default: true }),
  parameters: described(
    z.record(z.string(), z.unknown()).optional(),
    'Parameters of the check, as the check spells them.',
    { examples: [{ words: ['secret'], operator: 'none' }] },
  ),
});
export type GuardrailCheck = z.infer<typeof GuardrailCheck>;

const Feedback = z.looseObject({
  value: described(z.number().optional(), 'Value of the feedback.', { examples: [-5] }),
  weight: described(z.number().optional(), 'How much the feedback counts.', { examples: [1] }),
  metadata: described(z.string().optional(), 'Text kept with the feedback.'),
});

function consequence() {
  const feedback = described(Feedback.optional(), 'Feedback that is recorded for the request.');
  return z.looseObject({ feedback }).optional();
}

/** What a verdict leads to; clients keep keys of their own here, so unknown ones stay. */
export const GuardrailActions = z.looseObject({
  deny: described(z.boolean().optional(), 'Whether a request that fails the checks is refused.'),
  async: described(z.boolean().optional(), 'Whether the request goes on while the checks run.'),
  sequential: described(z.boolean().optional(), 'Whether the checks run one after the other.'),
  on_success: described(consequence(), 'What follows when all checks pass.'),
  on_fail: described(consequence(), 'What follows when a check fails.'),
});
export type GuardrailActions = z.infer<typeof GuardrailActions>;

/**
 * Body of POST /guardrails. `target` is `llm` when absent and cannot change; only a guardrail on tools
 * may be without checks.
 */
export const GuardrailCreate = z.object({
  name: ResourceName,
  target: described(
    GuardrailTarget.optional(),
    'What is guarded: requests to models, or calls of MCP tools.',
    { default: 'llm' },
  ),
  checks: described(
    z.array(GuardrailCheck).max(checksMax).optional(),
    'What is checked; required where the target is llm.',
  ),
  actions: described(
    GuardrailActions.optional(),
    'What a verdict leads to; required where the target is llm.',
  ),
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
