/** Defines the settings of an organisation that apply in all its workspaces: guardrails, export restrictions, lifetime of keys. */
import { z } from 'zod';
import { ExportSettings } from '../logs/log-export.ts';
import { described } from '../wire/described.ts';
import { ApiKeyMaxTtlDays } from './organisation.ts';
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
  mcp_input_guardrails: described(
    GuardrailReferences.nullable().optional(),
    'Guardrails of the organisation on every call of an MCP tool.',
  ),
  mcp_output_guardrails: described(
    GuardrailReferences.nullable().optional(),
    'Guardrails of the organisation on every result of an MCP tool.',
  ),
  export_settings: described(
    ExportSettings.nullable().optional(),
    'Fields that no export of the log may contain.',
  ),
  api_key_max_ttl_days: described(
    ApiKeyMaxTtlDays.optional(),
    'Maximum lifetime of the API keys of the organisation, in days.',
  ),
});
export type OrganisationDefaults = z.infer<typeof OrganisationDefaults>;
