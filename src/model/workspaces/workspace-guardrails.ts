/** Knows the body by which a workspace is told the guardrails that hold on all of its requests. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { WorkspaceReference } from '../wire/resource-fields.ts';
import { GuardrailReferences } from './workspace.ts';

/** Body of PUT /workspaces/{id}/guardrails: absent fields stay, null clears. */
export const WorkspaceGuardrailsUpdate = z.object({
  input_guardrails: described(
    GuardrailReferences.nullable().optional(),
    'Guardrails of the workspace or the organisation that judge every request.',
  ),
  output_guardrails: described(
    GuardrailReferences.nullable().optional(),
    'Guardrails of the workspace or the organisation that judge every answer.',
  ),
});
export type WorkspaceGuardrailsUpdate = z.infer<typeof WorkspaceGuardrailsUpdate>;

/** The same in a manifest, which says whose they are. */
export function makeWorkspaceGuardrailsSpec() {
  return WorkspaceGuardrailsUpdate.extend({ workspace_id: WorkspaceReference }).strict();
}
