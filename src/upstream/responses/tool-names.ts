/** Names the tools of a responses request for a chat, and finds the tools that its calls mean. */
import { createHash } from 'node:crypto';
import type { Json } from '../documents/document-node.ts';

/** A tool of the request as a call names it. */
export interface CalledTool {
  readonly kind: 'function' | 'custom' | 'tool_search';
  readonly name: string;
  /** Null for a tool without one. */
  readonly namespace: string | null;
}

/** Longest name of a function at OpenAI. */
const nameCharsMax = 64;

/** Name of the function that stands in for the search of deferred tools, which the client executes. */
export const toolSearchName = 'tool_search';

/** Name of the function for a tool in a namespace. */
export function functionName(namespace: string | null, name: string): string {
  if (namespace === null) return name;
  const whole = `${namespace}__${name}`;
  if (whole.length <= nameCharsMax) return whole;
  const digest = createHash('sha256').update(whole).digest('hex').slice(0, 8);
  return `${name.slice(0, nameCharsMax - 9)}_${digest}`;
}

/** Tools by the names of their functions; functions without a namespace have no entry. */
export type CalledTools = ReadonlyMap<string, CalledTool>;

/** Reads the tools of a request, those of its items too. Tolerates any request, because it has been translated. */
export function calledToolsOf(request: Json): CalledTools {
  const tools = new Map<string, CalledTool>();
  addTools(tools, request.tools, null);
  for (const item of listOf(request.input)) {
    if (item.type === 'additional_tools' || item.type === 'tool_search_output') {
      addTools(tools, item.tools, null);
    }
  }
  return tools;
}

function addTools(tools: Map<string, CalledTool>, list: unknown, namespace: string | null): void {
  for (const tool of listOf(list)) {
    const name = typeof tool.name === 'string' ? tool.name : '';
    if (tool.type === 'namespace') addTools(tools, tool.tools, name);
    else if (tool.type === 'tool_search') {
      tools.set(toolSearchName, { kind: 'tool_search', name: toolSearchName, namespace: null });
    } else if (tool.type === 'custom' || namespace !== null) {
      const kind = tool.type === 'custom' ? 'custom' : 'function';
      tools.set(functionName(namespace, name), { kind, name, namespace });
    }
  }
}

function listOf(value: unknown): readonly Json[] {
  if (!Array.isArray(value)) return [];
  return value.filter((one): one is Json => typeof one === 'object' && one !== null);
}
