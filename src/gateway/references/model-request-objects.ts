/** Finds the objects that a model request names, and selects how new objects are extracted from its response. */
import { endpointAt } from '../../model/endpoints/catalogue.ts';
import { memberNames, peekMember } from '../../model/json/lazy-object.ts';
import { foldedName, isToolOfCaller } from '../../model/json/member-name.ts';
import type { Slices } from '../../slices.ts';
import type { Exchange } from '../callers/exchange.ts';
import { bucketReferences } from './bucket-references.ts';
import { nestedField } from './form-references.ts';
import { geminiReferences } from './gemini-references.ts';
import { findReferences, hasPartsIn, type Reference, referencesOf } from './owned-references.ts';
import {
  extractFromChat,
  extractFromMessage,
  extractThreadMessages,
  type ObjectExtractor,
} from './response-objects.ts';

export interface ModelRequestObjects {
  readonly references: readonly Reference[];
  /** Null when no response contains objects. */
  readonly extractor: ObjectExtractor | null;
}

type ModelRequest = Pick<Exchange, 'request' | 'path' | 'params' | 'isJson'>;
type Params = Exchange['params'];

/** Null for most requests, which have nothing to do with objects; the check is cheap. */
export function* findModelRequestObjects({
  request,
  path,
  params,
  isJson,
}: ModelRequest): Slices<ModelRequestObjects | null> {
  const endpoint = endpointAt(request.method, path);
  if (endpoint === null) return null;
  const { name, references: names } = endpoint;
  const extractor = modelExtractorOf(name, params);
  let references: readonly Reference[] = [];
  if (names.length > 0) {
    references = isJson ? yield* referencesIn(name, names, params) : inForm(names, params);
  }
  return extractor === null && references.length === 0 ? null : { references, extractor };
}

function* referencesIn(
  endpoint: string,
  names: readonly string[],
  params: Params,
): Slices<readonly Reference[]> {
  if (names.includes('cachedcontent')) return geminiReferences(params, names);
  if (names.includes('s3location')) return bucketReferences(params);
  if (endpoint !== 'messages' && endpoint !== 'chat_completions') {
    return yield* findReferences(params, { kind: null, references: names });
  }
  const inMessages = { kind: null, references: names.filter(isNamedInMessages) };
  const references = hasPartsIn(params)
    ? yield* findReferences({ messages: params.messages }, inMessages)
    : [];
  const beside = membersBeside(params, names);
  if (beside.length === 0) return references;
  const form = { kind: null, references: names };
  return [...references, ...(yield* findReferences(Object.fromEntries(beside), form))];
}

/** Members beside the messages that may name objects: those with a listed name, and all that contain members. */
function membersBeside(params: Params, names: readonly string[]): [string, unknown][] {
  return memberNames(params).flatMap((name): [string, unknown][] => {
    if (name === 'messages') return [];
    const value = peekMember(params, name) ?? null;
    const isPlain = name === 'tools' && Array.isArray(value) && value.every(isToolOfCaller);
    const mayName = typeof value === 'object' || names.includes(foldedName(name));
    return value === null || isPlain || !mayName ? [] : [[name, params[name]]];
  });
}

function inForm(names: readonly string[], params: Params): Reference[] {
  const form = { kind: null, references: names };
  return Object.entries(params).flatMap(([name, value]) =>
    [value].flat().flatMap((text) => referencesOf(nestedField(name, String(text)), form)),
  );
}

/** Members that name an object beside the messages only. */
const besideMessages: ReadonlySet<string> = new Set([
  'container',
  'container_id',
  'skill_id',
  'skill_ids',
  'previous_message_id',
]);

function isNamedInMessages(name: string): boolean {
  return !besideMessages.has(name);
}

function modelExtractorOf(endpoint: string, params: Params): ObjectExtractor | null {
  if (endpoint === 'messages') return messageExtractorOf(params);
  if (endpoint !== 'chat_completions') return null;
  const isStored = params.store === true;
  const speaks = Array.isArray(params.modalities) && params.modalities.includes('audio');
  if (!isStored && !speaks) return null;
  const of = (answer: unknown) => extractFromChat(isStored, answer);
  return {
    fromResponse: of,
    fromEvent: of,
    laterEvents: speaks ? /"audio"/ : /$^/,
    isMarked: false,
  };
}

function messageExtractorOf(params: Params): ObjectExtractor | null {
  // The provider stores the thread under the id of the response.
  const isThreaded = (params.thread ?? null) !== null;
  const hasRun = runsCode(params);
  if (!isThreaded) return hasRun ? ofMessages : null;
  const of = (answer: unknown) => [
    ...extractThreadMessages(answer),
    ...(hasRun ? extractFromMessage(answer) : []),
  ];
  const isOfMore = hasRun ? ofMessages.laterEvents : /$^/;
  return { fromResponse: of, fromEvent: of, laterEvents: isOfMore, isMarked: false };
}

/** Whether the model may run code in a container of the provider. */
function runsCode({ container, tools }: Params): boolean {
  if (container !== undefined && container !== null) return true;
  return Array.isArray(tools) && tools.some((tool) => /^code_execution/.test(String(tool?.type)));
}

const ofMessages: ObjectExtractor = {
  fromResponse: extractFromMessage,
  fromEvent: extractFromMessage,
  laterEvents: /"container"|"file_id"/,
  isMarked: false,
};
