/** Converts exclusions of workspaces from organisation guardrails to API records. */
import { z } from 'zod';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type { StoredGuardrailExclusion } from '../../store/resources/guardrail-exclusions.ts';

export const GuardrailExclusionRecord = z.object({
  id: z.uuid(),
  organisation_id: z.uuid(),
  workspace_id: z.uuid(),
  input_guardrails: z.boolean(),
  output_guardrails: z.boolean(),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
  object: z.literal('guardrail-exclusion'),
});

export function guardrailExclusionToRecord(
  row: StoredGuardrailExclusion,
): z.infer<typeof GuardrailExclusionRecord> {
  return {
    id: row.id,
    organisation_id: row.organisation_id,
    workspace_id: row.workspace_id,
    input_guardrails: row.input_guardrails === 1,
    output_guardrails: row.output_guardrails === 1,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
    object: 'guardrail-exclusion',
  };
}

/** The body that would create this exclusion; sync compares it with its manifests. */
export function guardrailExclusionToSpec(row: StoredGuardrailExclusion): Record<string, unknown> {
  const { workspace_id, input_guardrails, output_guardrails } = guardrailExclusionToRecord(row);
  return { workspace_id, input_guardrails, output_guardrails };
}
