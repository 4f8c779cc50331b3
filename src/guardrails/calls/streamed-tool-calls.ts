/** Joins the pieces of tool calls in the events of streams, in every way in which clients could read them. */
import { isObject } from '../../model/json/read-object.ts';
import { type Members, nameOf, type ToolCall, toolCallsIn, typedCall } from './tool-calls.ts';

/** One call while its pieces arrive. */
interface PartialCall {
  /** Clients append a further name, or take the last one. */
  readonly names: string[];
  text: string;
  /** Arguments that arrived as a whole. */
  readonly wholes: unknown[];
}

type CallAt = (key: string) => PartialCall;

/** A call whose pieces can be read in several ways is in the result once for each of them. */
export function toolCallsInEvents(events: readonly Members[]): ToolCall[] {
  const calls = new Map<string, PartialCall>();
  const whole: ToolCall[] = [];
  const at = (key: string): PartialCall => {
    const call = calls.get(key) ?? { names: [], text: '', wholes: [] };
    calls.set(key, call);
    return call;
  };
  for (const event of events) {
    if (!addPieces(event, at)) whole.push(...toolCallsIn(event));
  }
  return [...[...calls.values()].flatMap(readingsOf), ...whole];
}

function readingsOf({ names, text, wholes }: PartialCall): ToolCall[] {
  const isRepeated = new Set(names).size <= 1;
  const tools = isRepeated ? [names[0] ?? ''] : [names.join(''), names.at(-1)!];
  const given = wholes.filter((input) => !isEmpty(input) && input !== text);
  const inputs = text === '' ? given : [text, ...given];
  if (inputs.length === 0) inputs.push(wholes[0] ?? text);
  return [...new Set(tools)].flatMap((tool) => inputs.map((input) => ({ tool, input })));
}

function isEmpty(input: unknown): boolean {
  if (isObject(input)) return Object.keys(input).length === 0;
  return input === undefined || input === null || input === '';
}

/** Adds what an event says of calls; false for an event that contains them as a whole, or none. */
function addPieces(event: Members, at: CallAt): boolean {
  const { choices, type, delta } = event;
  if (Array.isArray(choices)) return addChoices(choices, at);
  if (isObject(delta) && isObject(delta.step_details)) {
    return addListed(delta.step_details.tool_calls, at, `step ${String(event.id)}`);
  }
  if (typeof type === 'string') return addTyped(event, type, at);
  return addConverse(event, at);
}

function addTyped(event: Members, type: string, at: CallAt): boolean {
  const index = `block ${String(event.index)}`;
  switch (type) {
    case 'content_block_start':
      return addWhole(event.content_block, at, index);
    case 'content_block_delta':
      return addText(event.delta, 'partial_json', at, index);
    case 'tool-call-start':
    case 'tool-call-delta':
      return addCohere(event.delta, at, index);
    case 'response.output_item.added':
    case 'response.output_item.done':
      return addItem(event, at);
    default:
      return itemPieces.test(type) && addItemPiece(event, at);
  }
}

/** Pieces of the arguments of an item of the Responses API, and at the end all of them. */
const itemPieces =
  /^response\.(?:function_call_arguments|mcp_call_arguments|custom_tool_call_input)\.(?:delta|done)$/;

function addItem(event: Members, at: CallAt): boolean {
  const { item } = event;
  const call = isObject(item) ? typedCall(item) : null;
  return call !== null && addWhole(item, at, itemKey(event, item));
}

function addItemPiece(event: Members, at: CallAt): boolean {
  const { name, delta, arguments: written, input } = event;
  const call = at(itemKey(event, null));
  if (typeof name === 'string') call.names.push(name);
  if (delta !== undefined) return addText(event, 'delta', () => call, '');
  call.wholes.push(written ?? input);
  return true;
}

function itemKey({ output_index: index, item_id: id }: Members, item: unknown): string {
  const own = isObject(item) ? item.id : id;
  return `item ${String(index ?? own)}`;
}

function addCohere(delta: unknown, at: CallAt, key: string): boolean {
  const message = isObject(delta) ? delta.message : undefined;
  const calls = isObject(message) ? message.tool_calls : undefined;
  return addListed(isObject(calls) ? [calls] : calls, at, key);
}

function addConverse({ contentBlockStart, contentBlockDelta }: Members, at: CallAt): boolean {
  if (isObject(contentBlockStart)) {
    const { start, contentBlockIndex } = contentBlockStart;
    const use = isObject(start) ? start.toolUse : undefined;
    if (isObject(use)) addFunction(use, 'input', at, `block ${String(contentBlockIndex)}`);
    return true;
  }
  if (!isObject(contentBlockDelta)) return false;
  const { delta, contentBlockIndex } = contentBlockDelta;
  const use = isObject(delta) ? delta.toolUse : undefined;
  return addText(use, 'input', at, `block ${String(contentBlockIndex)}`);
}

function addChoices(choices: readonly unknown[], at: CallAt): boolean {
  for (const [place, choice] of choices.entries()) {
    if (!isObject(choice)) continue;
    const { delta, index = place } = choice;
    if (!isObject(delta)) return false;
    const key = `choice ${String(index)}`;
    addListed(delta.tool_calls, at, key);
    addFunction(delta.function_call, 'arguments', at, key);
  }
  return true;
}

function addListed(list: unknown, at: CallAt, key: string): boolean {
  const calls = Array.isArray(list) ? (list as unknown[]) : [];
  for (const [position, call] of calls.entries()) {
    if (!isObject(call)) continue;
    const own = `${key} call ${String(call.index ?? position)}`;
    addFunction(call.function, 'arguments', at, own);
    addFunction(call.custom, 'input', at, own);
  }
  return true;
}

function addFunction(called: unknown, member: string, at: CallAt, key: string): void {
  if (!isObject(called)) return;
  const name = nameOf(called.name);
  const call = at(key);
  if (name !== '') call.names.push(name);
  addText(called, member, at, key);
}

function addWhole(block: unknown, at: CallAt, key: string): boolean {
  const call = isObject(block) ? typedCall(block) : null;
  if (call === null) return true;
  const started = at(key);
  started.names.push(call.tool);
  started.wholes.push(call.input);
  return true;
}

/** Arguments that are no text are those of the whole call. */
function addText(value: unknown, member: string, at: CallAt, key: string): boolean {
  const piece = isObject(value) ? value[member] : undefined;
  if (piece === undefined || piece === null) return true;
  if (typeof piece === 'string') at(key).text += piece;
  else at(key).wholes.push(piece);
  return true;
}
