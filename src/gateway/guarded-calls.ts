/** Knows how guardrails stand around a call: what they refuse is not sent, and what they judge is not answered before. */
import type { Judgement } from '../guardrails/evaluate.ts';
import type { Guardrail } from '../guardrails/guardrail.ts';
import { answerPassages } from '../guardrails/passages.ts';
import type { Leaf } from '../model/config-tree.ts';
import { endpointOf } from '../model/endpoint.ts';
import type { ObjectKind } from '../objects/object-request.ts';
import type { Attempted } from './attempt.ts';
import type { Caller } from './caller.ts';
import type { Exchange } from './exchange.ts';
import { GatewayError } from './gateway-error.ts';
import {
  failedStatus,
  type GuardedAnswer,
  judgedBody,
  readable,
  refusal,
  trailerOf,
  verdictOf,
} from './guarded-answer.ts';
import { GuardedInputs, judgeCall, subjectOf } from './guarded-input.ts';
import type { CallGuardrails, Guardrails } from './guardrails.ts';
import { meteredNothing } from './meter.ts';
import { ownedPathOf } from './owned-path.ts';
import type { ProviderCalls } from './provider-calls.ts';
import { isEventStream } from './relay.ts';
import type { ResolvedTarget } from './resolve-target.ts';
import { type ReadAnswer, unanswered, wholeAnswer } from './whole-answer.ts';

export interface GuardedCallsOptions {
  readonly guardrails: Guardrails;
  readonly calls: ProviderCalls;
  readonly exchange: Exchange;
  readonly caller: Caller;
}

/** Endpoints whose requests hold text that is judged; of the others only checks for all kinds are run. */
const judgedEndpoints = new Set([
  ...['chat_completions', 'completions', 'embeddings', 'messages', 'responses'],
]);

/** What an answer is judged by, and what was said of its request. */
interface Guarding {
  readonly output: readonly Guardrail[];
  readonly input: Judgement;
  readonly isStrict: boolean;
}

export class GuardedCalls {
  readonly #options: GuardedCallsOptions;
  readonly #endpoint: string;
  readonly #inputs: GuardedInputs;

  constructor(options: GuardedCallsOptions) {
    this.#options = options;
    this.#endpoint = judgedAs(options.exchange);
    this.#inputs = new GuardedInputs(options.exchange, this.#endpoint);
  }

  /** As {@link ProviderCalls.call}; nothing more where no guardrail judges. */
  call(leaf: Leaf): Promise<Attempted> {
    const { guardrails, calls, exchange } = this.#options;
    const found = guardrails.of(exchange.key, leaf.settings.guardrails);
    return found === null ? calls.call(leaf, exchange) : this.#guarded(leaf, found);
  }

  async #guarded(leaf: Leaf, found: CallGuardrails | Promise<CallGuardrails>): Promise<Attempted> {
    const { calls, exchange } = this.#options;
    const { guardrails: named, isStrict } = leaf.settings;
    const guards = thatJudge(await found, exchange, this.#endpoint);
    if (guards === null) return calls.call(leaf, exchange);
    const target = await calls.targetOf(leaf, exchange);
    const { judgement, exchange: asked } = await this.#inputs.of(named, guards.input, target);
    if (judgement.isDenied)
      return refused(target, refusal(exchange.errorForm, judgement.results, []));
    const attempted = await calls.call(leaf, asked);
    const judged = { ...attempted, verdict: verdictOf(judgement) };
    return this.#answered(judged, { output: guards.output, input: judgement, isStrict });
  }

  /** A stream that nobody judges is passed on as it comes; all else is read first. */
  async #answered(attempted: Attempted, guarding: Guarding): Promise<Attempted> {
    const { call, kept, status } = attempted;
    if (status < 200 || status > 299) return attempted;
    if (kept !== null) {
      const headers = { 'content-type': kept.contentType };
      const read = { headers, body: kept.body, metered: meteredNothing, cost: 0 };
      return this.#judgeAnswer(attempted, read, guarding);
    }
    if (call === null) return attempted;
    const isPassedOn =
      isEventStream(call.headers) && guarding.output.every(({ isAsync }) => isAsync);
    if (!isPassedOn) return this.#readAnswer(attempted, guarding);
    const { results, passes } = guarding.input;
    const trailer = guarding.isStrict ? null : trailerOf(results, []);
    const shown = passes ? status : failedStatus;
    return { ...attempted, status: shown, passedOn: { status: shown, trailer } };
  }

  async #readAnswer(attempted: Attempted, guarding: Guarding): Promise<Attempted> {
    const read = await wholeAnswer(attempted, this.#options);
    if ('error' in read) return unanswered(attempted, read);
    return this.#judgeAnswer(attempted, read, guarding);
  }

  async #judgeAnswer(
    attempted: Attempted,
    read: ReadAnswer,
    { output: guardrails, input, isStrict }: Guarding,
  ): Promise<Attempted> {
    const used = { ...read, providerStatus: attempted.status };
    const rest = { ...attempted, call: null, kept: null };
    const isPlain = read.headers['content-encoding'] === undefined;
    const found = isPlain ? readable(this.#endpoint, read.headers, read.body) : null;
    if (found === null) {
      return guardrails.some(({ isAsync }) => !isAsync)
        ? unanswered(rest, { error: unreadable(), metered: read.metered })
        : { ...rest, guarded: { ...used, status: attempted.status } };
    }
    const passages = answerPassages(this.#endpoint, found.json);
    const { exchange } = this.#options;
    const subject = {
      ...subjectOf(exchange, this.#endpoint, attempted.target),
      ...{ side: 'output' as const, passages, lastCount: passages.length },
      answer: { status: attempted.status, json: found.json },
    };
    const output = await judgeCall(guardrails, subject, exchange.now);
    const { errorForm } = exchange;
    const verdict = verdictOf(input, output);
    const isPassed = input.passes && output.passes;
    const status = isPassed ? attempted.status : failedStatus;
    const guarded = output.isDenied
      ? refusal(errorForm, input.results, output.results, used)
      : {
          ...used,
          status,
          body: judgedBody(read.body, found, passages, { input, output, isStrict }),
        };
    return { ...rest, status: guarded.status, verdict, guarded };
  }
}

/** What a provider keeps of an answer is judged as that was, whenever it is asked for. */
function judgedAs({ path, request }: Exchange): string {
  const endpoint = endpointOf(path);
  const owned = endpoint === 'other' ? ownedPathOf(request.method, path) : null;
  if (owned === null) return endpoint;
  const { kind, id, rest } = owned;
  const isWhole = request.method === 'GET' && id !== null && rest.length === 0;
  const isCompact = kind === 'responses' && id === null && rest.join('/') === 'compact';
  return isWhole || isCompact ? (answersByKind[kind] ?? endpoint) : endpoint;
}

const answersByKind: Partial<Record<ObjectKind, string>> = {
  responses: 'responses',
  chat_completions: 'chat_completions',
};

/** Of a request without text that is judged, those checks that judge all. */
function thatJudge(
  { input, output }: CallGuardrails,
  { request }: Exchange,
  endpoint: string,
): CallGuardrails | null {
  const isJudged = judgedEndpoints.has(endpoint);
  if (isJudged && request.method === 'POST') {
    return { input, output: endpoint === 'embeddings' ? [] : output };
  }
  const forAll = input.flatMap((guardrail) => {
    const checks = guardrail.checks.filter(({ isForAll }) => isForAll);
    return checks.length === 0 ? [] : [{ ...guardrail, checks }];
  });
  // Answers are shown again; a list of them is none.
  const shown = isJudged && request.method === 'GET' ? output : [];
  return forAll.length + shown.length === 0 ? null : { input: forAll, output: shown };
}

/** A target that was not called. */
function refused(target: ResolvedTarget, guarded: GuardedAnswer): Attempted {
  return {
    ...{ target, call: null, kept: null, error: null, status: guarded.status, retries: 0 },
    ...{ cacheStatus: 'DISABLED', isSent: false, stopClock: () => undefined },
    ...{ verdict: 'denied', guarded },
  };
}

function unreadable(): GatewayError {
  const message = 'The answer of the provider cannot be read, and guardrails have to judge it';
  return new GatewayError('answer_unreadable', message);
}
