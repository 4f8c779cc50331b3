/** Finds the objects that a model request names, and selects how new objects are extracted from its response. */
import { endpointOf } from '../../model/services/endpoint.ts';
import type { Exchange } from '../callers/exchange.ts';
import { isPlain } from './owned-path.ts';
import { hasPartsIn, type Reference, referencesOf } from './owned-references.ts';
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
export function modelRequestObjectsOf({
  request,
  path,
  params,
  isJson,
}: ModelRequest): ModelRequestObjects | null {
  if (!isJson) return null;
  const endpoint = endpointOf(path);
  const extractor = modelExtractorOf(endpoint, params);
  const references = isPlain(request.method, path)
    ? referencesInModelRequest(endpoint, params)
    : referencesOf(params, null).filter(isNamedAnywhere);
  return extractor === null && references.length === 0 ? null : { references, extractor };
}

function referencesInModelRequest(endpoint: string, params: Params): readonly Reference[] {
  const { container, thread, diagnostics } = params;
  const isOfChat = endpoint === 'chat_completions';
  const inMessages = hasPartsIn(params)
    ? referencesOf({ messages: params.messages }, isOfChat ? 'chat_completions' : null).filter(
        isNamedInMessages,
      )
    : [];
  const isBare = container === undefined && thread === undefined && diagnostics === undefined;
  if (isOfChat || isBare) return inMessages;
  return [...inMessages, ...referencesOf({ container, thread, diagnostics }, null)];
}

/** Other words in messages may be arbitrary text. */
const isNamedInMessages = ({ kind }: Reference): boolean => kind === 'files' || kind === 'audio';
/** Kinds that are recognised at unknown paths. */
const isNamedAnywhere = ({ kind }: Reference): boolean =>
  kind === 'files' || kind === 'vector_stores';

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
