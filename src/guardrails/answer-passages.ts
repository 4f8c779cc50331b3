/** Knows which texts of an answer are judged, by the form that it has, and which of them are judged together. */
import {
  contentPassages,
  each,
  itemPassages,
  type Json,
  member,
  type Passage,
  type Path,
} from './passages.ts';

/** How an answer holds text: as a model of that endpoint answers, or as a provider shows what it keeps. */
export type AnsweredForm = 'chat_completions' | 'completions' | 'messages' | 'responses' | 'kept';

/** What was an answer by itself, and is judged so. */
export interface OneAnswer {
  /** Where it stands in what is shown. */
  readonly place: Path;
  readonly json: Json;
  /** By their places in `json`. */
  readonly passages: readonly Passage[];
}

/**
 * Of a model one answer with all its choices, even where it says nothing; of what is kept as many as are shown
 * and hold text, and none of what callers have put there.
 */
export function answersIn(form: AnsweredForm, json: Json): OneAnswer[] {
  if (form !== 'kept') return [{ place: [], json, passages: passagesOf(form, json) }];
  const shown = Array.isArray(json.data)
    ? each(json.data).map(([one, at]) => ({ place: ['data', at], json: one as Json }))
    : [{ place: [], json }];
  return shown
    .map((one) => ({ ...one, passages: keptPassages(one.json, []) }))
    .filter(({ passages }) => passages.length > 0);
}

function passagesOf(form: Exclude<AnsweredForm, 'kept'>, json: Json): Passage[] {
  switch (form) {
    case 'chat_completions':
      return choicePassages(json.choices, ['choices']);
    case 'completions':
      return each(json.choices).flatMap(([choice, at]) =>
        contentPassages(member(choice, 'text'), ['choices', at, 'text']),
      );
    case 'messages':
      return contentPassages(json.content, ['content']);
    case 'responses':
      return outputPassages(json.output, ['output']);
  }
}

/** Of all choices of a chat. */
export function choicePassages(choices: unknown, path: Path): Passage[] {
  return each(choices).flatMap(([choice, at]) =>
    itemPassages(member(choice, 'message'), [...path, at, 'message']),
  );
}

/** Of all items of a response. */
export function outputPassages(output: unknown, path: Path): Passage[] {
  return each(output).flatMap(([item, at]) => saidPassages(item, [...path, at]));
}

/** Of one item, and of one that the model has only thought none. */
export function saidPassages(item: unknown, path: Path): Passage[] {
  return member(item, 'type') === 'reasoning' ? [] : itemPassages(item, path);
}

/** Of a message, an item, a step of a run, a response or a chat. */
export function keptPassages(one: unknown, path: Path): Passage[] {
  if (typeof one !== 'object' || one === null || isOfCaller(one as Json)) return [];
  const { choices, output, type, step_details: details } = one as Json;
  if (Array.isArray(choices)) return choicePassages(choices, [...path, 'choices']);
  if (Array.isArray(output) && type === undefined)
    return outputPassages(output, [...path, 'output']);
  if (details !== undefined) return stepPassages(details, [...path, 'step_details', 'tool_calls']);
  return saidPassages(one, path);
}

/** What tools of the provider have answered; outputs of functions are the caller's. */
function stepPassages(details: unknown, path: Path): Passage[] {
  return each(member(details, 'tool_calls')).flatMap(([call, at]) => [
    ...['code_interpreter', 'file_search'].flatMap((tool) =>
      itemPassages(member(call, tool), [...path, at, tool]),
    ),
  ]);
}

const callersRoles: ReadonlySet<unknown> = new Set(['user', 'system', 'developer', 'tool']);
const callersTypes: ReadonlySet<unknown> = new Set([
  ...['function_call_output', 'custom_tool_call_output', 'local_shell_call_output'],
  ...['apply_patch_call_output', 'computer_call_output', 'mcp_approval_response'],
]);

/** Judged when it was put there. */
function isOfCaller({ role, type }: Json): boolean {
  return callersRoles.has(role) || callersTypes.has(type);
}
