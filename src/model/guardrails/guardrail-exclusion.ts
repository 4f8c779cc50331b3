/** Knows the bodies by which a workspace is let go without the guardrails of its organisation. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { WorkspaceReference } from '../wire/resource-fields.ts';

/** Body of POST /guardrail-exclusions. */
export const GuardrailExclusionCreate = z.object({
  workspace_id: WorkspaceReference,
  input_guardrails: described(
    z.boolean().optional(),
    'Whether its requests go without those of the organisation.',
    { default: false },
  ),
  output_guardrails: described(
    z.boolean().optional(),
    'Whether its answers go without those of the organisation.',
    { default: false },
  ),
});
export type GuardrailExclusionCreate = z.infer<typeof GuardrailExclusionCreate>;

/** Body of PUT /guardrail-exclusions/{id}; absent fields stay. */
export const GuardrailExclusionUpdate = GuardrailExclusionCreate.omit({ workspace_id: true });
