/** Knows how guardrails stand around a call: what they refuse is not sent, and what they judge is not answered before. */
import type { Judgement } from '../../guardrails/evaluate.ts';
import type { Guardrail } from '../../guardrails/guardrail.ts';
import type { Leaf } from '../../model/config-tree.ts';
import type { Exchange } from '../callers/exchange.ts';
import {
  failedStatus,
  type GuardedAnswer,
  judgedBody,
  readable,
  refusal,
  trailerOf,
  verdictOf,
} from '../guardrails/guarded-answer.ts';
import { GuardedInputs, subjectOf } from '../guardrails/guarded-input.ts';
import type { CallGuardrails, Guardrails } from '../guardrails/guardrails.ts';
import { judgeAnswer } from '../guardrails/judged-answer.ts';
import { type JudgedTexts, judgedTextsOf } from '../guardrails/judged-texts.ts';
import { meteredNothing } from '../metering/meter.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import type { Caller } from '../transfer/caller.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { isEventStream } from '../transfer/relay.ts';
import type { Attempted } from './attempt.ts';
import type { ProviderCalls } from './provider-calls.ts';
import { type ReadAnswer, unanswered, wholeAnswer } from './whole-answer.ts';

export interface GuardedCallsOptions {
  readonly guardrails: Guardrails;
  readonly calls: ProviderCalls;
  readonly exchange: Exchange;
  readonly caller: Caller;
}

/** What an answer is judged by, and what was said of its request. */
interface Guarding {
  readonly output: readonly Guardrail[];
  readonly input: Judgement;
  readonly isStrict: boolean;
}

/** How it is asked what guardrails let pass. */
type Ask = (asked: Exchange) => Promise<Attempted>;

export class GuardedCalls {
  readonly #options: GuardedCallsOptions;
  /** Both only of a request that is judged. */
  #judgedTexts: JudgedTexts | null = null;
  #judgedInputs: GuardedInputs | null = null;

  constructor(options: GuardedCallsOptions) {
    this.#options = options;
  }

  get #texts(): JudgedTexts {
    this.#judgedTexts ??= judgedTextsOf(this.#options.exchange);
    return this.#judgedTexts;
  }

  get #inputs(): GuardedInputs {
    this.#judgedInputs ??= new GuardedInputs(this.#options.exchange, this.#texts);
    return this.#judgedInputs;
  }

  /** As {@link ProviderCalls.call}; nothing more where no guardrail judges. */
  call(leaf: Leaf): Promise<Attempted> {
    const { calls } = this.#options;
    return this.answer(leaf, (asked) => calls.call(leaf, asked));
  }

  /** As {@link call}, of what comes about in another way. */
  answer(leaf: Leaf, ask: Ask): Promise<Attempted> {
    const { guardrails, exchange } = this.#options;
    const found = guardrails.of(exchange.key, leaf.settings.guardrails);
    return found === null ? ask(exchange) : this.#guarded(leaf, found, ask);
  }

  async #guarded(
    leaf: Leaf,
    found: CallGuardrails | Promise<CallGuardrails>,
    ask: Ask,
  ): Promise<Attempted> {
    const { calls, exchange } = this.#options;
    const { guardrails: named, isStrict } = leaf.settings;
    const guards = await found;
    const input = this.#inputs.thatJudge(guards.input);
    const output = this.#texts.answered === null ? [] : guards.output;
    const isAsWas = input.length + output.length === 0 && !this.#texts.isQuestion;
    if (isAsWas) return ask(exchange);
    const target = await calls.targetOf(leaf, exchange);
    const { judgement, exchange: asked } = await this.#inputs.of(named, input, target);
    if (judgement.isDenied)
      return refused(target, refusal(exchange.errorForm, judgement.results, []));
    const attempted = await ask(asked);
    const judged = { ...attempted, verdict: verdictOf(judgement) };
    return this.#answered(judged, { output, input: judgement, isStrict });
  }

  /** A stream that nobody judges is passed on as it comes; all else is read first. */
  async #answered(attempted: Attempted, guarding: Guarding): Promise<Attempted> {
    const { call, kept, status, guarded } = attempted;
    if (status < 200 || status > 299) return attempted;
    if (guarded !== undefined) return this.#judgeAnswer(attempted, guarded, guarding);
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
    const outlivesCaller = this.#options.exchange.making !== undefined;
    const read = await wholeAnswer(attempted, { ...this.#options, outlivesCaller });
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
    const found = isPlain ? readable(this.#texts.answered, read.headers, read.body) : null;
    const { exchange } = this.#options;
    const judgedAnswer =
      found === null
        ? null
        : await judgeAnswer(guardrails, this.#texts, {
            subject: subjectOf(exchange, this.#texts.endpoint, attempted.target),
            ...{ status: attempted.status, json: found.json, now: exchange.now },
          });
    if (found === null || judgedAnswer === null) {
      return guardrails.some(({ isAsync }) => !isAsync)
        ? unanswered(rest, { error: unreadable(), metered: read.metered })
        : { ...rest, guarded: { ...used, status: attempted.status } };
    }
    const { passages, judgement: output } = judgedAnswer;
    const { errorForm } = exchange;
    const verdict = verdictOf(input, output);
    const isPassed = input.passes && output.passes;
    const status = isPassed ? attempted.status : failedStatus;
    const isJudged = this.#texts.isQuestion || verdict !== null;
    const guarded = output.isDenied
      ? refusal(errorForm, input.results, output.results, used)
      : {
          ...used,
          status,
          body: isJudged
            ? judgedBody(read.body, found, passages, { input, output, isStrict })
            : read.body,
        };
    return { ...rest, status: guarded.status, verdict, guarded };
  }
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
