/** Judges requests by guardrails before they are sent to a provider. */

import { detach } from '../../detached.ts';
import {
  evaluateGuardrails,
  type GuardrailSubject,
  type Judgement,
} from '../../guardrails/evaluate.ts';
import type { Guardrail } from '../../guardrails/guardrail.ts';
import { findRequestPassages, type RequestPassages } from '../../guardrails/request-passages.ts';
import { NestedTooDeeply, nestingMax } from '../../guardrails/text-walk.ts';
import type { GuardrailSettings } from '../../model/configs/config-tree.ts';
import type { TextsForm } from '../../model/endpoints/endpoint.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { changedBody } from '../transfer/changed-body.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { textChanges } from './guarded-response.ts';
import type { TextForms } from './text-forms.ts';
import { requireUnambiguousBody } from './unambiguous-body.ts';

/** Properties of a target that checks receive. */
type CheckedTarget = Pick<ResolvedTarget, 'provider' | 'model'>;

interface GuardedRequest {
  readonly judgement: Judgement;
  /** The request with the texts as the checks changed them. */
  readonly exchange: Exchange;
}

interface JudgedRequest extends GuardedRequest {
  readonly settings: GuardrailSettings | null;
  readonly target: CheckedTarget;
}

/** Judges one request for each target, at most once per provider, model and guardrail settings. */
export class GuardedRequests {
  readonly forms: TextForms;
  readonly #exchange: Exchange;
  readonly #judged: JudgedRequest[] = [];
  #requestTexts: RequestTexts | null = null;

  constructor(exchange: Exchange, forms: TextForms) {
    this.#exchange = exchange;
    this.forms = forms;
  }

  /**
   * Selects the guardrails that have something to judge. All of them judge a model request, whatever it
   * contains. Any other request without texts is judged only by checks that judge all requests.
   *
   * @throws GatewayError for a body in which a provider could read other texts, or that is nested too deeply
   */
  thatJudge(guardrails: readonly Guardrail[]): readonly Guardrail[] {
    if (guardrails.length === 0) return guardrails;
    const { passages, lastCount, unreadable } = this.#texts();
    if (this.forms.isModelRequest || unreadable !== null) return guardrails;
    return guardrails.flatMap((guardrail) => {
      if ((guardrail.scansAll ? passages.length : lastCount) > 0) return [guardrail];
      const checks = guardrail.checks.filter(({ isForAll }) => isForAll);
      return checks.length === 0 ? [] : [{ ...guardrail, checks }];
    });
  }

  async judge(
    settings: GuardrailSettings | null,
    guardrails: readonly Guardrail[],
    { provider, model }: CheckedTarget,
  ): Promise<GuardedRequest> {
    const earlier = this.#judged.find(
      (one) =>
        one.settings === settings && one.target.provider === provider && one.target.model === model,
    );
    if (earlier !== undefined) return earlier;
    const target = { provider, model };
    const { judgement, exchange } = await this.#judge(guardrails, target);
    const judged = { settings, target, judgement, exchange };
    this.#judged.push(judged);
    return judged;
  }

  async #judge(guardrails: readonly Guardrail[], target: CheckedTarget): Promise<GuardedRequest> {
    const exchange = this.#exchange;
    const { params, body } = exchange;
    const { passages, lastCount, unreadable } = this.#texts();
    const subject = subjectOf(exchange, this.forms.endpoint, target);
    const judgement = await judgeCall(
      guardrails,
      { ...subject, side: 'input', answer: null, passages, lastCount, unreadable },
      exchange.now,
    );
    const texts = judgement.passages.map(({ text }) => text);
    const changes = textChanges(params, passages, texts);
    if (changes === null || body === null) return { judgement, exchange };
    const changed = {
      params: { ...params, ...Object.fromEntries(changes) },
      body: changedBody(body, changes),
    };
    return { judgement, exchange: { ...exchange, ...changed } };
  }

  #texts(): RequestTexts {
    this.#requestTexts ??= requestTexts(this.#exchange, this.forms.request);
    return this.#requestTexts;
  }
}

interface RequestTexts extends RequestPassages {
  /** Why the texts cannot be read; null if they can. */
  readonly unreadable: string | null;
}

function requestTexts(exchange: Exchange, form: TextsForm): RequestTexts {
  const { body, params, isJson, unreadUpload, streamedBody } = exchange;
  const hasUnreadBody = unreadUpload !== undefined || streamedBody !== undefined;
  if (hasUnreadBody || (body !== null && body.length > 0 && !isJson && form === 'unknown')) {
    return { passages: [], lastCount: 0, unreadable: 'the body is not JSON' };
  }
  requireUnambiguousBody(exchange);
  try {
    return { ...findRequestPassages(form, params), unreadable: null };
  } catch (thrown) {
    if (!(thrown instanceof NestedTooDeeply)) throw thrown;
    const message = `The JSON body is nested more than ${nestingMax} levels deep, so guardrails cannot check it`;
    throw new GatewayError('invalid_json', message, null, { cause: thrown });
  }
}

/** Builds the description of a call that checks receive for its request and for its response. */
export function subjectOf(
  exchange: Exchange,
  endpoint: string,
  { provider, model }: CheckedTarget,
) {
  const { params, metadata, request, id } = exchange;
  return {
    endpoint,
    params,
    metadata,
    headers: request.headers,
    provider,
    model,
    isStream: params.stream === true,
    traceId: id,
  };
}

/** Does not wait for guardrails that only observe. `now` in milliseconds since the epoch. */
export function judgeCall(
  guardrails: readonly Guardrail[],
  judged: GuardrailSubject,
  now: number,
): Promise<Judgement> {
  const observing = guardrails.filter(({ isAsync }) => isAsync);
  if (observing.length > 0) {
    detach('an observing guardrail', evaluateGuardrails(observing, judged, now));
  }
  const deciding = guardrails.filter(({ isAsync }) => !isAsync);
  return evaluateGuardrails(deciding, judged, now);
}
