/** Counts capabilities and enabled capabilities by type. */

import { z } from 'zod';
import type { CapabilityCount } from '../../store/mcp/mcp-capabilities.ts';

const Count = z.object({ total: z.int().min(0), enabled: z.int().min(0) });
export const CapabilityCounts = z.object({
  tools: Count,
  prompts: Count,
  resources: Count,
  resource_templates: Count,
});
export type CapabilityCounts = z.infer<typeof CapabilityCounts>;

/** Adds up several rows of one type. */
export function toCounts(rows: readonly CapabilityCount[]): CapabilityCounts {
  const countOf = (type: CapabilityCount['type']): z.infer<typeof Count> => {
    const ofType = rows.filter((row) => row.type === type);
    const sum = (field: 'total' | 'enabled') => ofType.reduce((all, row) => all + row[field], 0);
    return { total: sum('total'), enabled: sum('enabled') };
  };
  return {
    tools: countOf('tool'),
    prompts: countOf('prompt'),
    resources: countOf('resource'),
    resource_templates: countOf('resource_template'),
  };
}
