/** Judges requests by guardrails before they are sent to a provider. */

import { detach } from '../../detached.ts';
import type { CheckModelCalls } from '../../guardrails/check-model-calls.ts';
import {
  evaluateGuardrails,
  type GuardrailSubject,
  type Judgement,
} from '../../guardrails/evaluate.ts';
import type { Guardrail } from '../../guardrails/guardrail.ts';
import {
  findRequestPassages,
  hasTokens,
  type RequestPassages,
} from '../../guardrails/texts/request-passages.ts';
import { TextsUnreadable } from '../../guardrails/texts/stored-text.ts';
import type { GuardrailSettings } from '../../model/configs/config-tree.ts';
import type { TextsForm } from '../../model/endpoints/endpoint.ts';
import { run, type Slices } from '../../slices.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { changeBody, isLong } from '../transfer/changed-body.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { memberChanges } from './changed-members.ts';
import { changedForm, type GuardedForm, readGuardedForm } from './guarded-form.ts';
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
  /** The request before guardrails have changed it. */
  readonly exchange: Exchange;
  readonly #modelCalls: CheckModelCalls;
  readonly #judged: JudgedRequest[] = [];
  /** Set when the body is a form whose texts have been read. */
  #form: GuardedForm | null = null;
  #requestTexts: RequestTexts | Promise<RequestTexts> | null = null;

  constructor(exchange: Exchange, forms: TextForms, modelCalls: CheckModelCalls) {
    this.exchange = exchange;
    this.forms = forms;
    this.#modelCalls = modelCalls;
  }

  /**
   * Selects the guardrails that have something to judge. All of them judge a model request, whatever it
   * contains. Any other request without texts is judged only by checks that judge all requests.
   *
   * @throws GatewayError for a body in which a provider could read other texts, or that is nested too deeply
   */
  async thatJudge(guardrails: readonly Guardrail[]): Promise<readonly Guardrail[]> {
    if (guardrails.length === 0) return guardrails;
    const { passages, lastCount, unreadable } = await this.#texts();
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
    const exchange = this.exchange;
    const { params, body } = exchange;
    const { passages, lastCount, unreadable } = await this.#texts();
    const subject = subjectOf(exchange, this.forms.endpoint, target, this.#modelCalls);
    const judgement = await judgeCall(
      guardrails,
      { ...subject, side: 'input', answer: null, passages, lastCount, unreadable },
      exchange.now,
    );
    const texts = judgement.passages.map(({ text }) => text);
    if (this.#form !== null) {
      const changed = await changedForm(this.#form, texts, exchange as FormExchange);
      return { judgement, exchange: { ...exchange, ...changed } };
    }
    const texted = await run(textChanges(params, passages, texts), isLong(body));
    const changes = memberChanges(params, texted, judgement.members);
    if (changes === null || body === null) return { judgement, exchange };
    const changed = {
      params: { ...params, ...Object.fromEntries(changes) },
      body: await run(changeBody(body, changes), isLong(body)),
    };
    return { judgement, exchange: { ...exchange, ...changed } };
  }

  #texts(): RequestTexts | Promise<RequestTexts> {
    const exchange = this.exchange;
    this.#requestTexts ??= isForm(exchange)
      ? this.#formTexts(exchange)
      : run(requestTexts(exchange, this.forms.request), isLong(exchange.body));
    return this.#requestTexts;
  }

  async #formTexts(exchange: FormExchange): Promise<RequestTexts> {
    this.#form = await readGuardedForm(exchange).catch((thrown: unknown) => {
      throw unreadableFault(thrown);
    });
    return { ...this.#form.texts, unreadable: null };
  }
}

type FormExchange = Exchange & { readonly body: Buffer };

/** Whether the body is a form that has been read. */
function isForm(exchange: Exchange): exchange is FormExchange {
  const { body, isJson, request } = exchange;
  const isRead = body !== null && body.length > 0 && !isJson;
  return isRead && /^multipart\/form-data/i.test(request.headers['content-type'] ?? '');
}

interface RequestTexts extends RequestPassages {
  /** Why the texts cannot be read; null if they can. */
  readonly unreadable: string | null;
}

function* requestTexts(exchange: Exchange, form: TextsForm): Slices<RequestTexts> {
  const { body, params, isJson, unreadUpload, streamedBody } = exchange;
  const hasUnreadBody = unreadUpload !== undefined || streamedBody !== undefined;
  if (hasUnreadBody || (body !== null && body.length > 0 && !isJson && form === 'unknown')) {
    return { passages: [], lastCount: 0, unreadable: 'the body is not JSON' };
  }
  yield* requireUnambiguousBody(exchange);
  try {
    const unreadable = hasTokens(params) ? 'a text is sent as tokens' : null;
    return { ...(yield* findRequestPassages(form, params, isLong(body))), unreadable };
  } catch (thrown) {
    throw unreadableFault(thrown);
  }
}

function unreadableFault(thrown: unknown): unknown {
  if (!(thrown instanceof TextsUnreadable)) return thrown;
  const message = `The body ${thrown.message}, so guardrails cannot check it`;
  return new GatewayError('invalid_json', message, null, { cause: thrown });
}

/** Builds the description of a call that checks receive for its request and for its response. */
export function subjectOf(
  exchange: Exchange,
  endpoint: string,
  { provider, model }: CheckedTarget,
  modelCalls: CheckModelCalls,
) {
  const { params, metadata, request, id, key } = exchange;
  const { organisationId, workspace } = key;
  return {
    tenant: { organisationId, workspaceId: workspace?.id ?? null },
    modelCalls,
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
