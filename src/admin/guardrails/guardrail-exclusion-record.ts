/** Defines the API record of exclusions of workspaces from organisation guardrails. */
import { z } from 'zod';
import type { StoredGuardrailExclusion } from '../../store/resources/guardrail-exclusions.ts';
import { constant, flag, record, timestamp } from '../request/record.ts';

export const guardrailExclusionRecord = record<StoredGuardrailExclusion>()({
  id: z.uuid(),
  organisation_id: z.uuid(),
  workspace_id: z.uuid(),
  input_guardrails: flag,
  output_guardrails: flag,
  created_at: timestamp,
  last_updated_at: timestamp,
  object: constant('guardrail-exclusion'),
});

/** The body that would create this exclusion; sync compares it with its manifests. */
export function guardrailExclusionToSpec(row: StoredGuardrailExclusion): Record<string, unknown> {
  const { workspace_id, input_guardrails, output_guardrails } =
    guardrailExclusionRecord.toRecord(row);
  return { workspace_id, input_guardrails, output_guardrails };
}
