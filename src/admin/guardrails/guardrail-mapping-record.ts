/** Converts guardrail mappings (guardrails on MCP servers) to API records. */
import { z } from 'zod';
import type { StoredGuardrailMapping } from '../../store/resources/guardrail-mappings.ts';

export const GuardrailMapping = z.object({
  id: z.uuid(),
  guardrail_id: z.uuid(),
  mcp_server_id: z.uuid(),
  run_on: z.array(z.string()),
  capability_ids: z.array(z.uuid()),
});

export function guardrailMappingToRecord(
  row: StoredGuardrailMapping,
): z.infer<typeof GuardrailMapping> {
  return {
    id: row.id,
    guardrail_id: row.guardrail_id,
    mcp_server_id: row.mcp_server_id,
    ...contentOfRow(row),
  };
}

/** The body that would create this mapping, including the two path values. */
export function guardrailMappingToSpec(row: StoredGuardrailMapping): Record<string, unknown> {
  const { run_on, capability_ids } = contentOfRow(row);
  return {
    guardrail_id: row.guardrail_id,
    mcp_server_id: row.mcp_server_id,
    run_on,
    mcp_integration_capability_ids: capability_ids,
  };
}

function contentOfRow(row: StoredGuardrailMapping): {
  run_on: string[];
  capability_ids: string[];
} {
  return {
    run_on: JSON.parse(row.run_on) as string[],
    capability_ids: JSON.parse(row.capability_ids) as string[],
  };
}
