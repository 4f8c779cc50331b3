/** Defines the bodies that create and update guardrails. */
import { z } from 'zod';
import { foreignActionFields, foreignConsequenceFields } from '../services/foreign-fields.ts';
import { described } from '../wire/described.ts';
import { ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';
import { acceptWithoutEffect } from '../wire/unknown-fields.ts';

/** Maximum checks of one guardrail. */
const checksMax = 100;

export const GuardrailTarget = z.enum(['llm', 'mcp_tools']);
export type GuardrailTarget = z.infer<typeof GuardrailTarget>;

/** One check as sent. guardrail-checks.ts refuses ids that are not in the catalogue. */
export const GuardrailCheck = z.strictObject({
  id: described(z.string().min(1).max(255), 'Id of a check in the catalogue or of a partner.', {
    examples: ['default.contains'],
  }),
  name: described(z.string().max(255).optional(), 'Name of the check within the guardrail.'),
  is_enabled: described(z.boolean().optional(), 'Whether the check runs.', { default: true }),
  parameters: described(
    z.record(z.string(), z.unknown()).optional(),
    'Parameters of the check, in the spelling of the check.',
    { examples: [{ words: ['secret'], operator: 'none' }] },
  ),
});
export type GuardrailCheck = z.infer<typeof GuardrailCheck>;

const Feedback = z.looseObject({
  value: described(z.number().optional(), 'Value of the feedback.', { examples: [-5] }),
  weight: described(z.number().optional(), 'Weight of the feedback.', { examples: [1] }),
  metadata: described(z.string().optional(), 'Text stored with the feedback.'),
});

function consequence() {
  const feedback = described(Feedback.optional(), 'Feedback that is recorded for the request.');
  return acceptWithoutEffect(z.looseObject({ feedback }), foreignConsequenceFields).optional();
}

/**
 * `bytes` of text are gathered before they are judged; `overlap` bytes at the end are held back, because a match may begin
 * in them.
 */
const StreamMode = z.union([
  z.literal('hold'),
  z.strictObject({
    window: described(
      z.strictObject({
        bytes: described(
          z
            .int()
            .min(64)
            .max(1024 * 1024),
          'Text that is gathered before it is judged; at least twice the overlap.',
          { examples: [4096] },
        ),
        overlap: described(
          z
            .int()
            .min(1)
            .max(64 * 1024),
          'Text at the end that is held back, because a match may begin in it.',
          { examples: [512] },
        ),
      }),
      'Judges the stream in windows; only for checks that know their longest match.',
    ),
  }),
]);
export type StreamMode = z.infer<typeof StreamMode>;

/** Consequences of a verdict; guardrail-checks.ts refuses fields that are not defined here. */
export const GuardrailActions = acceptWithoutEffect(
  z.looseObject({
    deny: described(z.boolean().optional(), 'Whether a request that fails the checks is rejected.'),
    mode: described(
      z.enum(['enforce', 'monitor']).optional(),
      'Whether verdicts take effect, or are only recorded.',
      { default: 'enforce' },
    ),
    stream: described(
      StreamMode.optional(),
      'Whether a stream is held back until all of it is judged, or judged in windows.',
      { default: 'hold', examples: ['hold', { window: { bytes: 4096, overlap: 512 } }] },
    ),
    async: described(z.boolean().optional(), 'Whether the request continues while the checks run.'),
    sequential: described(z.boolean().optional(), 'Whether the checks run one after the other.'),
    on_unsupported: described(
      z.enum(['deny', 'pass']).optional(),
      'Whether a guardrail with deny rejects what its checks cannot judge.',
      { default: 'deny' },
    ),
    fail_closed: described(
      z.boolean().optional(),
      'Whether a check that cannot run counts as failed.',
    ),
    scan_scope: described(
      z.enum(['last_message', 'all_messages']).optional(),
      'Whether the last message is judged, or all of them.',
      { default: 'last_message' },
    ),
    on_success: described(consequence(), 'Consequences when all checks pass.'),
    on_fail: described(consequence(), 'Consequences when a check fails.'),
  }),
  foreignActionFields,
);
export type GuardrailActions = z.infer<typeof GuardrailActions>;

/**
 * Body of POST /guardrails. `target` defaults to `llm` and cannot be changed. Only a guardrail for tools
 * may have no checks.
 */
export const GuardrailCreate = z.object({
  name: ResourceName,
  target: described(
    GuardrailTarget.optional(),
    'What is guarded: inference requests, or calls of MCP tools.',
    { default: 'llm' },
  ),
  checks: described(
    z.array(GuardrailCheck).max(checksMax).optional(),
    'Checks of the guardrail; required if the target is llm.',
  ),
  actions: described(
    GuardrailActions.optional(),
    'Consequences of a verdict; required if the target is llm.',
  ),
  workspace_id: WorkspaceReference.optional(),
});
export type GuardrailCreate = z.infer<typeof GuardrailCreate>;

/**
 * Body of PUT /guardrails/{id}. A check without an `id` takes the id of the stored check with the same
 * name.
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
