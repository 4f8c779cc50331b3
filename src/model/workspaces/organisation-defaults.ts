/** Defines the settings of an organisation that apply in all its workspaces: guardrails and export restrictions. */
import { z } from 'zod';
import { ExportSettings } from '../logs/log-export.ts';
import { described } from '../wire/described.ts';
import { GuardrailReferences } from './workspace.ts';

/** Body of PUT /admin/organisation/defaults: an absent field is unchanged, null clears it. */
export const OrganisationDefaults = z.object({
  input_guardrails: described(
    GuardrailReferences.nullable().optional(),
    'Guardrails of the organisation on every request.',
  ),
  output_guardrails: described(
    GuardrailReferences.nullable().optional(),
    'Guardrails of the organisation on every response.',
  ),
  export_settings: described(
    ExportSettings.nullable().optional(),
    'Fields that no export of the log may contain.',
  ),
});
export type OrganisationDefaults = z.infer<typeof OrganisationDefaults>;
