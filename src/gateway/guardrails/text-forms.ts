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
  /** Format of the texts in the request; null when none are judged. */
  readonly request: RequestForm | null;
  /** Format of the texts in the response; null when none are judged. */
  readonly response: ResponseForm | null;
  /** Whether a model is called; request and response are then judged even without texts. */
  readonly isModelRequest: boolean;
}

/** The response consists of vectors, so it is not judged. */
const embeddings: TextForms = {
  endpoint: 'embeddings',
  request: 'embeddings',
  response: null,
  isModelRequest: true,
};

const modelRequests = new Map<string, TextForms>([
  ['embeddings', embeddings],
  ...(['chat_completions', 'completions', 'messages', 'responses'] as const).map(
    (form): [string, TextForms] => [form, modelRequestForms(form)],
  ),
]);

function modelRequestForms(form: Exclude<ResponseForm, 'stored'>): TextForms {
  return { endpoint: form, request: form, response: form, isModelRequest: true };
}

export function textFormsOf({ path, request }: Pick<Exchange, 'path' | 'request'>): TextForms {
  const { method } = request;
  const endpoint = endpointOf(path);
  const modelRequest = method === 'POST' ? modelRequests.get(endpoint) : undefined;
  if (modelRequest !== undefined) return modelRequest;
  const owned = ownedPathOf(method, path);
  if (owned === null) return { endpoint, request: null, response: null, isModelRequest: false };
  if (isCompact(owned, method)) return modelRequestForms('responses');
  const { kind } = owned;
  const whole = isWhole(owned, method) ? formOfWhole[kind] : undefined;
  const shows = outputKinds.has(kind) && method !== 'DELETE' && !isEcho(owned, method);
  return {
    endpoint: method === 'GET' ? (whole ?? endpoint) : endpoint,
    request: bodyMethods.has(method) && inputKinds.has(kind) ? 'stored' : null,
    response: shows ? (whole ?? 'stored') : null,
    isModelRequest: false,
  };
}

/** Methods whose body a provider may read. */
const bodyMethods: ReadonlySet<unknown> = new Set(['POST', 'PUT', 'PATCH']);
/** Kinds whose texts reach a model later. */
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

const formOfWhole: Partial<Record<ObjectKind, Exclude<ResponseForm, 'stored'>>> = {
  responses: 'responses',
  chat_completions: 'chat_completions',
};

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
