/** Writes calls and results of earlier turns as texts, because Bedrock refuses both in requests without tools. */
import type { Json } from '../documents/document-node.ts';
import type { RoleTurn } from '../documents/role-turns.ts';

interface ToolUseBlock {
  readonly toolUseId: string;
  readonly name: string;
  readonly input: unknown;
}

interface ToolResultBlock {
  readonly toolUseId: string;
  readonly content: readonly Json[];
}

export function callsAsText(turns: readonly RoleTurn[]): RoleTurn[] {
  return turns.map(({ role, content }) => ({ role, content: content.flatMap(asText) }));
}

function asText(block: Json): Json[] {
  const { toolUse, toolResult } = block as {
    readonly toolUse?: ToolUseBlock;
    readonly toolResult?: ToolResultBlock;
  };
  if (toolUse !== undefined) {
    const { toolUseId, name, input } = toolUse;
    return [{ text: `Call ${toolUseId} of ${name}: ${JSON.stringify(input)}` }];
  }
  if (toolResult === undefined) return [block];
  const { toolUseId, content } = toolResult;
  return [{ text: `Result of ${toolUseId}:` }, ...content.filter(({ text }) => text !== '')];
}
