/** Knows how many capabilities of each type there are, and how many of them are enabled. */

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

/** By type; several rows of one type are added up. */
export function toCounts(rows: readonly CapabilityCount[]): CapabilityCounts {
  const countOf = (type: CapabilityCount['type']): z.infer<typeof Count> => {
    const of = rows.filter((row) => row.type === type);
    const sum = (field: 'total' | 'enabled') => of.reduce((all, row) => all + row[field], 0);
    return { total: sum('total'), enabled: sum('enabled') };
  };
  return {
    tools: countOf('tool'),
    prompts: countOf('prompt'),
    resources: countOf('resource'),
    resource_templates: countOf('resource_template'),
  };
}
