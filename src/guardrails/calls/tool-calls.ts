/** Finds the calls of tools in requests, responses and streams of every format. */
import { parseWithExactKeys } from '../../model/json/json-object.ts';
import { isObject } from '../../model/json/read-object.ts';

/** A call of a tool as a model or a caller wrote it. */
export interface ToolCall {
  /** Empty for a call without a name. */
  readonly tool: string;
  /** JSON as text, or already read. */
  readonly input: unknown;
}

type Members = Readonly<Record<string, unknown>>;

/** Maximum levels at which calls are searched; documents that are judged have 100. */
const levelsMax = 100;

/** The calls in a document, in its order. */
export function toolCallsIn(document: unknown): ToolCall[] {
  const found: ToolCall[] = [];
  addCalls(document, found, 0);
  return found;
}

function addCalls(value: unknown, found: ToolCall[], level: number): void {
  if (typeof value !== 'object' || value === null || level > levelsMax) return;
  if (Array.isArray(value)) {
    for (const below of value as unknown[]) addCalls(below, found, level + 1);
    return;
  }
  const own = typedCall(value as Members);
  if (own !== null) {
    found.push(own);
    return;
  }
  found.push(...wrappedCalls(value as Members));
  for (const [name, below] of Object.entries(value)) {
    if (!wrappers.has(name)) addCalls(below, found, level + 1);
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
function typedCall(members: Members): ToolCall | null {
  const { type, name, input, arguments: written } = members;
  const kind = typeof type === 'string' ? type : '';
  if (inputTypes.test(kind)) return { tool: nameOf(name), input };
  if (argumentTypes.test(kind)) return { tool: nameOf(name), input: written };
  if (actionTypes.test(kind)) return { tool: kind, input: members.action };
  return null;
}

/** `tool_calls[]` and `function_call` of chats, `functionCall` of Gemini, `toolUse` of Converse. */
function* wrappedCalls(members: Members): Generator<ToolCall> {
  const { function: called, custom, function_call: legacy, functionCall, toolUse } = members;
  if (isObject(called) && Object.hasOwn(called, 'arguments')) {
    yield { tool: nameOf(called.name), input: called.arguments };
  }
  if (isObject(custom) && Object.hasOwn(custom, 'input')) {
    yield { tool: nameOf(custom.name), input: custom.input };
  }
  if (isObject(legacy)) yield { tool: nameOf(legacy.name), input: legacy.arguments };
  if (isObject(functionCall)) yield { tool: nameOf(functionCall.name), input: functionCall.args };
  if (isObject(toolUse)) yield { tool: nameOf(toolUse.name), input: toolUse.input };
}

function nameOf(name: unknown): string {
  return typeof name === 'string' ? name : '';
}

/** Arguments of one call while its pieces arrive. */
interface PartialCall {
  tool: string;
  text: string;
  /** Arguments that arrived as a whole; undefined for none. */
  whole: unknown;
}

/** The calls in the events of a stream, with their pieces joined. */
export function toolCallsInEvents(events: readonly Members[]): ToolCall[] {
  const calls = new Map<string, PartialCall>();
  const whole: ToolCall[] = [];
  const at = (key: string): PartialCall => {
    const call = calls.get(key) ?? { tool: '', text: '', whole: undefined };
    calls.set(key, call);
    return call;
  };
  for (const event of events) {
    if (!addPieces(event, at)) whole.push(...toolCallsIn(event));
  }
  const joined = [...calls.values()].map(({ tool, text, whole: input }) => ({
    tool,
    input: text === '' ? (input ?? text) : text,
  }));
  return [...joined, ...whole];
}

type CallAt = (key: string) => PartialCall;

/** Adds what an event says of calls; false for an event that contains them as a whole, or none. */
function addPieces(event: Members, at: CallAt): boolean {
  const { choices, type, contentBlockStart, contentBlockDelta } = event;
  if (Array.isArray(choices)) return addChoices(choices, at);
  const index = `block ${String(event.index)}`;
  if (type === 'content_block_start') return addStart(event.content_block, at, index);
  if (type === 'content_block_delta') return addText(event.delta, 'partial_json', at, index);
  if (isObject(contentBlockStart)) {
    const { start, contentBlockIndex } = contentBlockStart;
    if (!isObject(start) || !isObject(start.toolUse)) return true;
    at(`block ${String(contentBlockIndex)}`).tool += nameOf(start.toolUse.name);
    return true;
  }
  if (isObject(contentBlockDelta)) {
    const { delta, contentBlockIndex } = contentBlockDelta;
    const use = isObject(delta) ? delta.toolUse : undefined;
    return addText(use, 'input', at, `block ${String(contentBlockIndex)}`);
  }
  return false;
}

function addChoices(choices: readonly unknown[], at: CallAt): boolean {
  for (const [place, choice] of choices.entries()) {
    if (!isObject(choice)) continue;
    const { delta, index = place } = choice;
    if (!isObject(delta)) return false;
    const calls = Array.isArray(delta.tool_calls) ? (delta.tool_calls as unknown[]) : [];
    for (const [position, call] of calls.entries()) {
      if (!isObject(call)) continue;
      const key = `choice ${String(index)} call ${String(call.index ?? position)}`;
      addFunction(call.function, 'arguments', at, key);
      addFunction(call.custom, 'input', at, key);
    }
    addFunction(delta.function_call, 'arguments', at, `choice ${String(index)}`);
  }
  return true;
}

function addFunction(called: unknown, member: string, at: CallAt, key: string): void {
  if (!isObject(called)) return;
  at(key).tool += nameOf(called.name);
  addText(called, member, at, key);
}

function addStart(block: unknown, at: CallAt, key: string): boolean {
  const call = isObject(block) ? typedCall(block) : null;
  if (call === null) return true;
  const started = at(key);
  started.tool = call.tool;
  started.whole = call.input;
  return true;
}

function addText(value: unknown, member: string, at: CallAt, key: string): boolean {
  if (!isObject(value) || typeof value[member] !== 'string') return true;
  at(key).text += value[member];
  return true;
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
