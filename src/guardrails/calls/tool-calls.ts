/** Finds the calls of tools in requests and responses of every format. */
import { parseWithExactKeys } from '../../model/json/json-object.ts';
import { isObject } from '../../model/json/read-object.ts';

/** A call of a tool as a model or a caller wrote it. */
export interface ToolCall {
  /** Empty for a call without a name. */
  readonly tool: string;
  /** JSON as text, or already read. */
  readonly input: unknown;
}

export type Members = Readonly<Record<string, unknown>>;

/** Maximum levels at which calls are searched; documents that are judged have 100. */
const levelsMax = 100;

/** The calls in a document, in its order. */
export function toolCallsIn(document: unknown): ToolCall[] {
  const found: ToolCall[] = [];
  addCalls(document, found, 0, false);
  return found;
}

/** `isCall`: whether the value is in a list of calls, where a call may be without arguments. */
function addCalls(value: unknown, found: ToolCall[], level: number, isCall: boolean): void {
  if (typeof value !== 'object' || value === null || level > levelsMax) return;
  if (Array.isArray(value)) {
    for (const below of value as unknown[]) addCalls(below, found, level + 1, isCall);
    return;
  }
  const own = typedCall(value as Members);
  if (own !== null) {
    found.push(own);
    return;
  }
  found.push(...wrappedCalls(value as Members, isCall));
  for (const [name, below] of Object.entries(value)) {
    if (!wrappers.has(name)) addCalls(below, found, level + 1, name === 'tool_calls');
  }
}

/** Members that wrap a call; what is inside belongs to its arguments. */
const wrappers: ReadonlySet<string> = new Set([
  'function',
  'custom',
  'function_call',
  'functionCall',
  'toolUse',
]);

const inputTypes = /^(?:server_|mcp_)?tool_use$|^custom_tool_call$/;
const argumentTypes = /^(?:function_call|mcp_call|mcp_approval_request)$/;
/** Items of the Responses API whose `action` is what the model wants to do. */
const actionTypes = /^(?:computer|local_shell|shell|web_search)_call$/;

/** The call that an object is by its type; null for anything else. */
export function typedCall(members: Members): ToolCall | null {
  const { type, name, input, arguments: written } = members;
  const kind = typeof type === 'string' ? type : '';
  if (inputTypes.test(kind)) return { tool: nameOf(name), input };
  if (argumentTypes.test(kind)) return { tool: nameOf(name), input: written };
  if (actionTypes.test(kind)) return { tool: kind, input: members.action };
  return null;
}

/** `tool_calls[]` and `function_call` of chats, `functionCall` of Gemini, `toolUse` of Converse, calls of Cohere. */
function* wrappedCalls(members: Members, isCall: boolean): Generator<ToolCall> {
  const { function: called, custom, function_call: legacy, functionCall, toolUse } = members;
  if (isObject(called) && (isCall || Object.hasOwn(called, 'arguments'))) {
    yield { tool: nameOf(called.name), input: called.arguments };
  }
  if (isObject(custom) && (isCall || Object.hasOwn(custom, 'input'))) {
    yield { tool: nameOf(custom.name), input: custom.input };
  }
  if (isCall && typeof members.name === 'string') {
    yield { tool: members.name, input: members.parameters ?? members.arguments };
  }
  if (isObject(legacy)) yield { tool: nameOf(legacy.name), input: legacy.arguments };
  if (isObject(functionCall)) yield { tool: nameOf(functionCall.name), input: functionCall.args };
  if (isObject(toolUse)) yield { tool: nameOf(toolUse.name), input: toolUse.input };
}

export function nameOf(name: unknown): string {
  return typeof name === 'string' ? name : '';
}

/** The arguments as an object; null when they are no JSON object. Without any text there are none. */
export function argumentsOf({ input }: ToolCall): Members | null {
  if (isObject(input)) return input;
  if (input === undefined || input === null || input === '') return {};
  if (typeof input !== 'string' || input.length > argumentCharsMax) return null;
  try {
    const read = parseWithExactKeys(input);
    return isObject(read) ? read : null;
  } catch {
    return null;
  }
}

/** Longer arguments are not read, because that would delay other requests. */
const argumentCharsMax = 1024 * 1024;
