/** Finds the texts of a request that guardrails judge, and which of them are its last message. */

import type { TextsForm } from '../../model/endpoints/endpoint.ts';
import { memberNames, peekMember } from '../../model/json/lazy-object.ts';
import { isObject } from '../../model/json/read-object.ts';
import type { Slices } from '../../slices.ts';
import {
  indexedItems,
  type JsonObject,
  member,
  type Passage,
  type PassagePath,
} from './passages.ts';
import { addNameOf, findTextsIn, textsIn, type WalkStart } from './text-walk.ts';

export interface RequestPassages {
  readonly passages: readonly Passage[];
  /** Number of passages at the end that are judged by default: all but the messages before the last one. */
  readonly lastCount: number;
}

/** Members that are lists of messages, of which only the last one is judged by default. */
const conversationsByForm: Readonly<Record<TextsForm, readonly string[]>> = {
  chat_completions: ['messages'],
  completions: [],
  converse: ['messages'],
  embeddings: [],
  gemini: ['contents'],
  messages: ['messages'],
  responses: ['input'],
  stored: ['messages', 'additional_messages', 'items'],
  unknown: ['messages', 'input', 'inputs', 'contents'],
};

/** Members with texts that precede all messages. */
const systemMembers: ReadonlySet<string> = new Set([
  'system',
  'instructions',
  'additional_instructions',
  'systemInstruction',
  'system_instruction',
]);

/** Members whose texts are the message; all others accompany it. */
const messageMembers: ReadonlySet<string> = new Set([
  'content',
  'contents',
  'documents',
  'input',
  'inputs',
  'inputText',
  'instances',
  'items',
  'message',
  'messages',
  'additional_messages',
  'prompt',
  'queries',
  'query',
  'singleEmbeddingParams',
  'suffix',
  'texts',
  'tool_outputs',
]);

/** Members whose numbers are no text; lists of numbers in any other member may be tokens of one. */
const numberMembers: ReadonlySet<string> = new Set([
  'allowed_token_ids',
  'bad_token_ids',
  'banned_tokens',
  'logit_bias',
  'stop_token_ids',
]);
/** Members with the vectors of a text. */
const vectorMembers: ReadonlySet<string> = new Set([
  'input_embeds',
  'inputs_embeds',
  'prompt_embeds',
]);

/** Whether a text of the request is sent as tokens or vectors, which only its model can read. */
export function hasTokens(params: JsonObject): boolean {
  return memberNames(params).some((name) => {
    const value = peekMember(params, name) ?? null;
    if (vectorMembers.has(name)) return value !== null;
    return !numberMembers.has(name) && Array.isArray(value) && value.some(isToken);
  });
}

function isToken(item: unknown): boolean {
  return typeof item === 'number' || (Array.isArray(item) && typeof item[0] === 'number');
}

interface Parts {
  readonly earlier: Passage[];
  readonly beside: Passage[];
  readonly last: Passage[];
  /** Whether the walk is interrupted. */
  readonly isLong: boolean;
}

function* addTexts(
  { isLong }: Parts,
  value: unknown,
  start: WalkStart,
  found: Passage[],
): Slices<void> {
  if (isLong) yield* findTextsIn(value, start, found);
  else textsIn(value, start, found);
}

/** @throws TextsUnreadable */
export function* findRequestPassages(
  form: TextsForm,
  params: JsonObject,
  isLong: boolean,
): Slices<RequestPassages> {
  const parts: Parts = { earlier: [], beside: [], last: [], isLong };
  yield* addParts(parts, form, params, []);
  const { earlier, beside, last } = parts;
  return {
    passages: [...earlier, ...beside, ...last],
    lastCount: beside.length + last.length,
  };
}

/** Bodies of batches and of runs with a new thread contain further bodies. */
function* addParts(
  parts: Parts,
  form: TextsForm,
  params: JsonObject,
  at: PassagePath,
): Slices<void> {
  for (const [name, value] of Object.entries(params)) {
    yield;
    const path = [...at, name];
    addNameOf(path, parts.beside);
    if (systemMembers.has(name)) {
      yield* addTexts(parts, value, { path, isFormat: true }, parts.earlier);
    } else if (conversationsByForm[form].includes(name) && isConversation(value)) {
      yield* addConversation(parts, value, path);
    } else if (isBodyMember(form, name) && isObject(value)) {
      yield* addParts(parts, form, value, path);
    } else if (form === 'stored' && name === 'requests' && Array.isArray(value)) {
      for (const [request, index] of indexedItems(value)) {
        if (isObject(request)) yield* addParts(parts, form, request, [...path, index]);
        else yield* addTexts(parts, request, { path: [...path, index] }, parts.last);
        yield;
      }
    } else if (messageMembers.has(name)) {
      yield* addTexts(parts, value, { path, isFormat: true }, parts.last);
    } else {
      yield* addTexts(parts, value, { path, isAside: true }, parts.beside);
    }
  }
}

function isBodyMember(form: TextsForm, name: string): boolean {
  return form === 'stored' && (name === 'thread' || name === 'params' || name === 'body');
}

function* addConversation(
  parts: Parts,
  messages: readonly unknown[],
  path: PassagePath,
): Slices<void> {
  for (const [message, at] of indexedItems(messages)) {
    const list = at === messages.length - 1 ? parts.last : parts.earlier;
    yield* addTexts(parts, message, { path: [...path, at], isFormat: true }, list);
    yield;
  }
}

/** A list with anything but messages and items in it is judged as a whole. */
function isConversation(value: unknown): value is readonly unknown[] {
  return (
    Array.isArray(value) &&
    value.every((item) => ['role', 'type'].some((name) => typeof member(item, name) === 'string'))
  );
}
