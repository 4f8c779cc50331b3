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

const stateTexts: Readonly<Record<DefinitionFinding['state'], string>> = {
  trusted: 'is approved',
  drifted: 'has changed since it was approved',
  new: 'is not approved',
  gone: 'is no longer offered',
};

/** One line on the state, then one for each difference and each suspicious text, indented; at most `linesMax` of them. */
export function findingText(finding: DefinitionFinding, linesMax: number): string {
  const { type, name, state, seen_digest: digest, changes, warnings } = finding;
  const newest = state === 'trusted' || digest === null ? '' : ` (newest ${digest})`;
  const all = [...changes, ...warnings.map((warning) => `suspicious: ${warning}`)];
  const more = all.length - linesMax;
  const lines = more > 0 ? [...all.slice(0, linesMax), `and ${more} more`] : all;
  const head = `the definition of the ${type} ${name} ${stateTexts[state]}${newest}`;
  return [head, ...lines.map((line) => `  ${line}`)].join('\n');
}
