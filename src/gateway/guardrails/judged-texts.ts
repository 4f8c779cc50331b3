/** Knows what of a request and of its answer guardrails judge, by what is asked for. */
import type { AnsweredForm } from '../../guardrails/answer-passages.ts';
import type { AskedForm } from '../../guardrails/request-passages.ts';
import { endpointOf } from '../../model/endpoint.ts';
import type { ObjectKind } from '../../objects/object-request.ts';
import type { Exchange } from '../callers/exchange.ts';
import { type OwnedPath, ownedPathOf } from '../references/owned-path.ts';

export interface JudgedTexts {
  /** What is asked for, as checks are told. */
  readonly endpoint: string;
  /** How texts stand in the request; null for one of which none are judged. */
  readonly asked: AskedForm | null;
  /** How they stand in the answer. */
  readonly answered: AnsweredForm | null;
  /** Whether a model is asked and answers: both are judged whatever they hold. */
  readonly isQuestion: boolean;
}

/** Answers to them are vectors. */
const embeddings: JudgedTexts = {
  ...{ endpoint: 'embeddings', asked: 'embeddings', answered: null, isQuestion: true },
};

const questions = new Map<string, JudgedTexts>([
  ['embeddings', embeddings],
  ...(['chat_completions', 'completions', 'messages', 'responses'] as const).map(
    (form): [string, JudgedTexts] => [form, questionOf(form)],
  ),
]);

function questionOf(form: Exclude<AnsweredForm, 'kept'>): JudgedTexts {
  return { endpoint: form, asked: form, answered: form, isQuestion: true };
}

export function judgedTextsOf({ path, request }: Pick<Exchange, 'path' | 'request'>): JudgedTexts {
  const { method } = request;
  const endpoint = endpointOf(path);
  const question = method === 'POST' ? questions.get(endpoint) : undefined;
  if (question !== undefined) return question;
  const owned = ownedPathOf(method, path);
  if (owned === null) return { endpoint, asked: null, answered: null, isQuestion: false };
  if (isCompact(owned, method)) return questionOf('responses');
  const { kind } = owned;
  const whole = isWhole(owned, method) ? formOfWhole[kind] : undefined;
  const shows = showingKinds.has(kind) && method !== 'DELETE' && !isEcho(owned, method);
  return {
    endpoint: method === 'GET' ? (whole ?? endpoint) : endpoint,
    asked: sayingMethods.has(method) && askingKinds.has(kind) ? 'kept' : null,
    answered: shows ? (whole ?? 'kept') : null,
    isQuestion: false,
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

const formOfWhole: Partial<Record<ObjectKind, Exclude<AnsweredForm, 'kept'>>> = {
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
