/** Defines what people see of a definition that is not trusted, or that is suspicious. */
import { z } from 'zod';
import { definitionStates } from './definition-state.ts';
import { McpCapabilityType } from './mcp-integration.ts';

export const DefinitionFinding = z.object({
  type: McpCapabilityType,
  /** With hidden characters escaped. */
  name: z.string(),
  state: z.enum(definitionStates),
  approved_digest: z.string().nullable(),
  seen_digest: z.string().nullable(),
  /** Lines such as `~ description: "old" → "new"`. */
  changes: z.array(z.string()),
  /** Lines such as `hidden_characters in description: a\\u{e0041}b`. */
  warnings: z.array(z.string()),
});
export type DefinitionFinding = z.infer<typeof DefinitionFinding>;
