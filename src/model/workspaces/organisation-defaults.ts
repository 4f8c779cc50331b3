/** Knows what an organisation says of all its workspaces: the guardrails on every request, and what no export may hold. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { ExportSettings } from '../logs/log-export.ts';
import { GuardrailReferences } from './workspace.ts';

/** Body of PUT /admin/organisation/defaults: absent fields stay, null clears. */
export const OrganisationDefaults = z.object({
  input_guardrails: described(
    GuardrailReferences.nullable().optional(),
    'Guardrails of the organisation that judge every request.',
  ),
  output_guardrails: described(
    GuardrailReferences.nullable().optional(),
    'Guardrails of the organisation that judge every answer.',
  ),
  export_settings: described(
    ExportSettings.nullable().optional(),
    'What no export of the log may hold.',
  ),
});
export type OrganisationDefaults = z.infer<typeof OrganisationDefaults>;
