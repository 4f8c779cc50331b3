/** Defines the body that sets the guardrails on all requests of a workspace. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { WorkspaceReference } from '../wire/resource-fields.ts';
import { GuardrailReferences } from './workspace.ts';

/** Body of PUT /workspaces/{id}/guardrails: an absent field is unchanged, null clears it. */
export const WorkspaceGuardrailsUpdate = z.object({
  input_guardrails: described(
    GuardrailReferences.nullable().optional(),
    'Guardrails of the workspace or the organisation on every request.',
  ),
  output_guardrails: described(
    GuardrailReferences.nullable().optional(),
    'Guardrails of the workspace or the organisation on every response.',
  ),
  mcp_input_guardrails: described(
    GuardrailReferences.nullable().optional(),
    'Guardrails of the workspace or the organisation on every call of an MCP tool.',
  ),
  mcp_output_guardrails: described(
    GuardrailReferences.nullable().optional(),
    'Guardrails of the workspace or the organisation on every result of an MCP tool.',
  ),
});
export type WorkspaceGuardrailsUpdate = z.infer<typeof WorkspaceGuardrailsUpdate>;

/** Schema of a manifest's spec, which names the workspace. */
export function makeWorkspaceGuardrailsSpec() {
  return WorkspaceGuardrailsUpdate.extend({ workspace_id: WorkspaceReference }).strict();
}
