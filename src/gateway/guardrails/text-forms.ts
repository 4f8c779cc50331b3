/** Knows what of a request and of its answer guardrails judge, by what is asked for. */
import type { ResponseForm } from '../../guardrails/answer-passages.ts';
import type { RequestForm } from '../../guardrails/request-passages.ts';
import { endpointOf } from '../../model/services/endpoint.ts';
import type { ObjectKind } from '../../objects/object-request.ts';
import type { Exchange } from '../callers/exchange.ts';
import { type OwnedPath, ownedPathOf } from '../references/owned-path.ts';

export interface TextForms {
  /** What is asked for, as checks are told. */
  readonly endpoint: string;
  /** How texts stand in the request; null for one of which none are judged. */
  readonly request: RequestForm | null;
  /** How they stand in the answer. */
  readonly response: ResponseForm | null;
  /** Whether a model is asked and answers: both are judged whatever they hold. */
  readonly isModelRequest: boolean;
}

/** Answers to them are vectors. */
const embeddings: TextForms = {
  ...{ endpoint: 'embeddings', request: 'embeddings', response: null, isModelRequest: true },
};

const questions = new Map<string, TextForms>([
  ['embeddings', embeddings],
  ...(['chat_completions', 'completions', 'messages', 'responses'] as const).map(
    (form): [string, TextForms] => [form, questionOf(form)],
  ),
]);

function questionOf(form: Exclude<ResponseForm, 'stored'>): TextForms {
  return { endpoint: form, request: form, response: form, isModelRequest: true };
}

export function textFormsOf({ path, request }: Pick<Exchange, 'path' | 'request'>): TextForms {
  const { method } = request;
  const endpoint = endpointOf(path);
  const question = method === 'POST' ? questions.get(endpoint) : undefined;
  if (question !== undefined) return question;
  const owned = ownedPathOf(method, path);
  if (owned === null) return { endpoint, request: null, response: null, isModelRequest: false };
  if (isCompact(owned, method)) return questionOf('responses');
  const { kind } = owned;
  const whole = isWhole(owned, method) ? formOfWhole[kind] : undefined;
  const shows = showingKinds.has(kind) && method !== 'DELETE' && !isEcho(owned, method);
  return {
    endpoint: method === 'GET' ? (whole ?? endpoint) : endpoint,
    request: sayingMethods.has(method) && askingKinds.has(kind) ? 'stored' : null,
    response: shows ? (whole ?? 'stored') : null,
    isModelRequest: false,
  };
}

/** By which a provider could take what a body says. */
const sayingMethods: ReadonlySet<unknown> = new Set(['POST', 'PUT', 'PATCH']);
/** What is said there goes to a model some time. */
const askingKinds: ReadonlySet<ObjectKind> = new Set<ObjectKind>([
  ...(['assistants', 'threads', 'conversations', 'vector_stores', 'message_batches'] as const),
]);
/** What models have said is shown there. */
const showingKinds: ReadonlySet<ObjectKind> = new Set<ObjectKind>([
  ...(['threads', 'conversations', 'responses', 'chat_completions'] as const),
]);

const formOfWhole: Partial<Record<ObjectKind, Exclude<ResponseForm, 'stored'>>> = {
  responses: 'responses',
  chat_completions: 'chat_completions',
};

/** Whether the object itself is told. */
function isWhole({ id, rest }: OwnedPath, method: string | undefined): boolean {
  const isCancelled = method === 'POST' && rest.join('/').toLowerCase() === 'cancel';
  return id !== null && (rest.length === 0 || isCancelled);
}

/** Whether the answer says again what the caller has just put there. */
function isEcho({ kind, rest }: OwnedPath, method: string | undefined): boolean {
  const put = kind === 'threads' ? 'messages' : 'items';
  return method === 'POST' && rest.length === 1 && rest[0]!.toLowerCase() === put;
}

function isCompact({ kind, id, rest }: OwnedPath, method: string | undefined): boolean {
  const isOfNone = kind === 'responses' && id === null;
  return isOfNone && method === 'POST' && rest.join('/') === 'compact';
}
