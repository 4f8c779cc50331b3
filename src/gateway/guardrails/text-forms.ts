/** Determines which texts of a request and its response guardrails judge, by the endpoint. */
import type { ResponseForm } from '../../guardrails/answer-passages.ts';
import type { RequestForm } from '../../guardrails/request-passages.ts';
import { endpointOf } from '../../model/services/endpoint.ts';
import type { ObjectKind } from '../../objects/object-request.ts';
import type { Exchange } from '../callers/exchange.ts';
import { type OwnedPath, ownedPathOf } from '../references/owned-path.ts';

export interface TextForms {
  /** Name of the endpoint that checks receive. */
  readonly endpoint: string;
  /** Format of the texts in the request, if it has a body. */
  readonly request: RequestForm;
  /** Format of the texts in the response; null when none are judged. */
  readonly response: ResponseForm | null;
  /** Whether the response is a file, whose texts cannot be judged. */
  readonly isDownload: boolean;
  /** Whether a model is called; request and response are then judged even without texts. */
  readonly isModelRequest: boolean;
}

/** The response consists of vectors, so it is not judged. */
const embeddings: TextForms = {
  endpoint: 'embeddings',
  request: 'embeddings',
  response: null,
  isDownload: false,
  isModelRequest: true,
};

const modelRequests = new Map<string, TextForms>([
  ['embeddings', embeddings],
  ...(['chat_completions', 'completions', 'messages', 'responses'] as const).map(
    (form): [string, TextForms] => [form, modelRequestForms(form)],
  ),
]);

function modelRequestForms(form: Exclude<ResponseForm, 'stored' | 'unknown'>): TextForms {
  return {
    endpoint: form,
    request: form,
    response: form,
    isDownload: false,
    isModelRequest: true,
  };
}

export function textFormsOf({ path, request }: Pick<Exchange, 'path' | 'request'>): TextForms {
  const { method } = request;
  const endpoint = endpointOf(path);
  const modelRequest = method === 'POST' ? modelRequests.get(endpoint) : undefined;
  if (modelRequest !== undefined) return modelRequest;
  const owned = ownedPathOf(method, path);
  if (owned === null) return otherForms(endpoint, method);
  if (isCompact(owned, method)) return modelRequestForms('responses');
  const { kind } = owned;
  const whole = isWhole(owned, method) ? formOfWhole[kind] : undefined;
  const shows = outputKinds.has(kind) && method !== 'DELETE' && !isEcho(owned, method);
  return {
    endpoint: method === 'GET' ? (whole ?? endpoint) : endpoint,
    request: inputKinds.has(kind) ? 'stored' : 'unknown',
    response: shows ? (whole ?? 'stored') : null,
    isDownload: method === 'GET' && isFile(owned),
    isModelRequest: false,
  };
}

/** Every text of a request to an endpoint without a format of its own is judged, and of its response. */
function otherForms(endpoint: string, method: string | undefined): TextForms {
  const hasAnswer = method === 'POST' && !textlessResponses.has(endpoint);
  return {
    endpoint,
    request: endpoint === 'count_tokens' ? 'messages' : 'unknown',
    response: hasAnswer ? 'unknown' : null,
    isDownload: false,
    isModelRequest: false,
  };
}

/** Endpoints that answer with sound, numbers or the state of an object. */
const textlessResponses: ReadonlySet<string> = new Set(['audio_speech', 'count_tokens']);

/** Kinds whose bodies have texts of messages and items. */
const inputKinds: ReadonlySet<ObjectKind> = new Set<ObjectKind>([
  'assistants',
  'threads',
  'conversations',
  'vector_stores',
  'message_batches',
]);
/** Kinds whose responses contain texts of models. */
const outputKinds: ReadonlySet<ObjectKind> = new Set<ObjectKind>([
  'threads',
  'conversations',
  'responses',
  'chat_completions',
]);

const formOfWhole: Partial<Record<ObjectKind, Exclude<ResponseForm, 'stored' | 'unknown'>>> = {
  responses: 'responses',
  chat_completions: 'chat_completions',
};

/** Whether the response is a file of a batch, or one that a model has written. */
function isFile({ kind, rest }: OwnedPath): boolean {
  const last = rest.at(-1)?.toLowerCase();
  return fileKinds.has(kind) && (last === 'content' || last === 'results');
}

const fileKinds: ReadonlySet<ObjectKind> = new Set<ObjectKind>([
  'files',
  'containers',
  'message_batches',
]);

/** Whether the response contains the whole object. */
function isWhole({ id, rest }: OwnedPath, method: string | undefined): boolean {
  const isCancelled = method === 'POST' && rest.join('/').toLowerCase() === 'cancel';
  return id !== null && (rest.length === 0 || isCancelled);
}

/** Whether the response repeats what the caller has just sent. */
function isEcho({ kind, rest }: OwnedPath, method: string | undefined): boolean {
  const put = kind === 'threads' ? 'messages' : 'items';
  return method === 'POST' && rest.length === 1 && rest[0]!.toLowerCase() === put;
}

function isCompact({ kind, id, rest }: OwnedPath, method: string | undefined): boolean {
  const isOfNone = kind === 'responses' && id === null;
  return isOfNone && method === 'POST' && rest.join('/') === 'compact';
}
