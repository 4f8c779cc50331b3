/** Finds the texts of a response that guardrails check, by its format. */
import {
  contentPassages,
  indexedItems,
  itemPassages,
  type JsonObject,
  member,
  type Passage,
  type PassagePath,
} from './passages.ts';

/** Format of a response: the one of an endpoint, or that of objects stored by a provider. */
export type ResponseForm = 'chat_completions' | 'completions' | 'messages' | 'responses' | 'stored';

/** A single answer in a response; answers are checked separately. */
export interface AnswerPassages {
  /** Path of the answer in the response. */
  readonly path: PassagePath;
  readonly json: JsonObject;
  /** Texts with their paths in `json`. */
  readonly passages: readonly Passage[];
}

/**
 * Returns the answers in a response. A model's response is one answer with all its choices, even without
 * text. Stored
 * objects are returned only if they have text and were not created by a caller.
 */
export function answersIn(form: ResponseForm, json: JsonObject): AnswerPassages[] {
  if (form !== 'stored') return [{ path: [], json, passages: passagesOf(form, json) }];
  const objects = Array.isArray(json.data)
    ? indexedItems(json.data).map(([object, at]) => ({
        path: ['data', at],
        json: object as JsonObject,
      }))
    : [{ path: [], json }];
  return objects
    .map((object) => ({ ...object, passages: storedPassages(object.json, []) }))
    .filter(({ passages }) => passages.length > 0);
}

function passagesOf(form: Exclude<ResponseForm, 'stored'>, json: JsonObject): Passage[] {
  switch (form) {
    case 'chat_completions':
      return choicePassages(json.choices, ['choices']);
    case 'completions':
      return indexedItems(json.choices).flatMap(([choice, at]) =>
        contentPassages(member(choice, 'text'), ['choices', at, 'text']),
      );
    case 'messages':
      return contentPassages(json.content, ['content']);
    case 'responses':
      return outputPassages(json.output, ['output']);
  }
}

/** Texts of all choices of a chat. */
export function choicePassages(choices: unknown, path: PassagePath): Passage[] {
  return indexedItems(choices).flatMap(([choice, at]) =>
    itemPassages(member(choice, 'message'), [...path, at, 'message']),
  );
}

/** Texts of all output items of a response. */
export function outputPassages(output: unknown, path: PassagePath): Passage[] {
  return indexedItems(output).flatMap(([item, at]) => outputItemPassages(item, [...path, at]));
}

/** Texts of one output item; a reasoning item has none. */
export function outputItemPassages(item: unknown, path: PassagePath): Passage[] {
  return member(item, 'type') === 'reasoning' ? [] : itemPassages(item, path);
}

/** Texts of a stored message, item, run step, response or chat. */
export function storedPassages(object: unknown, path: PassagePath): Passage[] {
  if (typeof object !== 'object' || object === null || isFromCaller(object as JsonObject))
    return [];
  const { choices, output, type, step_details: details } = object as JsonObject;
  if (Array.isArray(choices)) return choicePassages(choices, [...path, 'choices']);
  if (Array.isArray(output) && type === undefined)
    return outputPassages(output, [...path, 'output']);
  if (details !== undefined) return stepPassages(details, [...path, 'step_details', 'tool_calls']);
  return outputItemPassages(object, path);
}

/** Texts that tools of the provider have returned; outputs of functions come from the caller. */
function stepPassages(details: unknown, path: PassagePath): Passage[] {
  return indexedItems(member(details, 'tool_calls')).flatMap(([call, at]) => [
    ...['code_interpreter', 'file_search'].flatMap((tool) =>
      itemPassages(member(call, tool), [...path, at, tool]),
    ),
  ]);
}

const callerRoles: ReadonlySet<unknown> = new Set(['user', 'system', 'developer', 'tool']);
const callerTypes: ReadonlySet<unknown> = new Set([
  'function_call_output',
  'custom_tool_call_output',
  'local_shell_call_output',
  'apply_patch_call_output',
  'computer_call_output',
  'mcp_approval_response',
]);

/** Objects that a caller created were checked at their creation. */
function isFromCaller({ role, type }: JsonObject): boolean {
  return callerRoles.has(role) || callerTypes.has(type);
}
