/** Knows how many capabilities of each type an MCP integration has, and how many are enabled. */

import { z } from 'zod';
import type { Db } from '../../store/connection/db.ts';
import * as mcpCapabilities from '../../store/tables/mcp-capabilities.ts';
import type { StoredMcpIntegration } from '../../store/tables/mcp-integrations.ts';

const Count = z.object({ total: z.int().min(0), enabled: z.int().min(0) });
export const CapabilityCounts = z.object({
  tools: Count,
  prompts: Count,
  resources: Count,
  resource_templates: Count,
});
type CapabilityCounts = z.infer<typeof CapabilityCounts>;

/** What an integration offers, by type; resource templates are not told apart yet. */
export async function countCapabilities(
  db: Db,
  integration: Pick<StoredMcpIntegration, 'id' | 'organisation_id'>,
): Promise<CapabilityCounts> {
  const rows = await mcpCapabilities.listCounts(db, integration.organisation_id, integration.id);
  const countOf = (type: mcpCapabilities.CapabilityCount['type']): z.infer<typeof Count> => {
    const row = rows.find((one) => one.type === type);
    return { total: row?.total ?? 0, enabled: row?.enabled ?? 0 };
  };
  return {
    tools: countOf('tool'),
    prompts: countOf('prompt'),
    resources: countOf('resource'),
    resource_templates: { total: 0, enabled: 0 },
  };
}
