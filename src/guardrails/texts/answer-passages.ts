/** Finds the texts of a response that guardrails judge, by its format. */
import { isAsideType } from './non-text-members.ts';
import { indexedItems, type JsonObject, type Passage, type PassagePath } from './passages.ts';
import { addNameOf, textsIn } from './text-walk.ts';

/** Format of a response: the one of an endpoint, that of objects stored by a provider, or any other. */
export type ResponseForm =
  | 'chat_completions'
  | 'completions'
  | 'converse'
  | 'gemini'
  | 'messages'
  | 'responses'
  | 'stored'
  | 'unknown';

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
 * text. Stored objects are returned only if they have text and were not created by a caller.
 *
 * @throws TextsUnreadable
 */
export function answersIn(form: ResponseForm, json: JsonObject): AnswerPassages[] {
  if (form !== 'stored') return [{ path: [], json, passages: answerPassages(form, json) }];
  const objects = Array.isArray(json.data)
    ? indexedItems(json.data).map(([object, at]) => ({
        path: ['data', at],
        json: object as JsonObject,
      }))
    : [{ path: [], json }];
  return objects
    .map((object) => ({ ...object, passages: storedPassages(object.json) }))
    .filter(({ passages }) => passages.length > 0);
}

/** The member with the message; texts of the others accompany it. */
const messageMembers: Readonly<Record<Exclude<ResponseForm, 'stored'>, string | null>> = {
  chat_completions: 'choices',
  completions: 'choices',
  converse: 'output',
  gemini: 'candidates',
  messages: 'content',
  responses: 'output',
  unknown: null,
};

/** Members of a response, chat or message that repeat what its caller has sent. */
const repeatedMembers: ReadonlySet<string> = new Set([
  'conversation',
  'instructions',
  'metadata',
  'prompt',
  'reasoning',
  'response_format',
  'text',
  'tool_choice',
  'tools',
]);

/** Texts of a model's response; `at` is its path. */
export function answerPassages(
  form: Exclude<ResponseForm, 'stored'>,
  json: JsonObject,
  at: PassagePath = [],
): Passage[] {
  const message = messageMembers[form];
  const found: Passage[] = [];
  for (const [name, value] of Object.entries(json)) {
    if (form === 'responses' && repeatedMembers.has(name)) continue;
    const path = [...at, name];
    addNameOf(path, found);
    const isAside = message !== null && name !== message;
    textsIn(value, { path, isFormat: true, isAside, isAnswer: true }, found);
  }
  return found;
}

/** Objects that contain only what a caller has set. */
const settingObjects: ReadonlySet<unknown> = new Set([
  'assistant',
  'conversation',
  'thread',
  'thread.run',
  'vector_store',
]);

/** Texts of a stored message, item, run step, response or chat. */
export function storedPassages(object: unknown): Passage[] {
  if (typeof object !== 'object' || object === null || isFromCaller(object as JsonObject)) {
    return [];
  }
  const json = object as JsonObject;
  const { choices, output, type } = json;
  if (Array.isArray(output) && type === undefined) return answerPassages('responses', json);
  const isAside = isAsideType(type);
  const found: Passage[] = [];
  for (const [name, value] of Object.entries(json)) {
    if (repeatedMembers.has(name) && (Array.isArray(choices) || name === 'metadata')) continue;
    addNameOf([name], found);
    textsIn(value, { path: [name], isFormat: true, isAside, isAnswer: true }, found);
  }
  return json.step_details === undefined ? found : found.filter(isFromProvider);
}

/** Outputs of functions come from the caller. */
function isFromProvider({ path }: Passage): boolean {
  return path.at(-1) !== 'output' || path.at(-2) !== 'function';
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
export function isFromCaller({ role, type, object }: JsonObject): boolean {
  return callerRoles.has(role) || callerTypes.has(type) || settingObjects.has(object);
}
