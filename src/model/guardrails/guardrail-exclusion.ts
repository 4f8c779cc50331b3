/** Defines the bodies that exclude a workspace from the guardrails of its organisation. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { WorkspaceReference } from '../wire/resource-fields.ts';

/** Body of POST /guardrail-exclusions. */
export const GuardrailExclusionCreate = z.object({
  workspace_id: WorkspaceReference,
  input_guardrails: described(
    z.boolean().optional(),
    "Whether requests skip the organisation's input guardrails.",
    { default: false },
  ),
  output_guardrails: described(
    z.boolean().optional(),
    "Whether responses skip the organisation's output guardrails.",
    { default: false },
  ),
});
export type GuardrailExclusionCreate = z.infer<typeof GuardrailExclusionCreate>;

/** Body of PUT /guardrail-exclusions/{id}; an absent field is unchanged. */
export const GuardrailExclusionUpdate = GuardrailExclusionCreate.omit({ workspace_id: true });
