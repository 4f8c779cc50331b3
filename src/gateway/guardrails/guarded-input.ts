/** Knows what guardrails are told of a call, and what they make of its request. */
import { type Judged, type Judgement, judge } from '../../guardrails/evaluate.ts';
import type { Guardrail } from '../../guardrails/guardrail.ts';
import { type AskedTexts, requestPassages } from '../../guardrails/request-passages.ts';
import type { GuardrailSettings } from '../../model/config-tree.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { changedBody } from '../transfer/changed-body.ts';
import { textChanges } from './guarded-answer.ts';
import type { JudgedTexts } from './judged-texts.ts';
import { requireOneReading } from './one-reading.ts';

/** What a check may ask of a target; nothing else of it is told. */
type ToldTarget = Pick<ResolvedTarget, 'provider' | 'model'>;

interface Input {
  readonly judgement: Judgement;
  /** With what the checks have made of its text. */
  readonly exchange: Exchange;
}

interface JudgedInput extends Input {
  readonly settings: GuardrailSettings | null;
  readonly told: ToldTarget;
}

/** Of one request. */
export class GuardedInputs {
  readonly #exchange: Exchange;
  readonly #judgedTexts: JudgedTexts;
  readonly #judged: JudgedInput[] = [];
  #asked: AskedTexts | null = null;
  #isOneReading = false;

  constructor(exchange: Exchange, judgedTexts: JudgedTexts) {
    this.#exchange = exchange;
    this.#judgedTexts = judgedTexts;
  }

  /**
   * Those that have something to judge. A question to a model is judged by all, whatever it holds; of what is
   * neither question nor text only those checks see anything that judge all requests.
   *
   * @throws GatewayError for a body in which a provider could read other texts
   */
  thatJudge(guardrails: readonly Guardrail[]): readonly Guardrail[] {
    const { isQuestion, asked } = this.#judgedTexts;
    if (guardrails.length === 0) return guardrails;
    if (asked !== null && !this.#isOneReading) requireOneReading(this.#exchange);
    this.#isOneReading = true;
    if (isQuestion) return guardrails;
    const { passages, lastCount } = this.#texts();
    return guardrails.flatMap((guardrail) => {
      if ((guardrail.scansAll ? passages.length : lastCount) > 0) return [guardrail];
      const checks = guardrail.checks.filter(({ isForAll }) => isForAll);
      return checks.length === 0 ? [] : [{ ...guardrail, checks }];
    });
  }

  /** Judged once for all targets of one provider and model that inherit the same settings. */
  async of(
    settings: GuardrailSettings | null,
    guardrails: readonly Guardrail[],
    { provider, model }: ToldTarget,
  ): Promise<Input> {
    const known = this.#judged.find(
      (one) =>
        one.settings === settings && one.told.provider === provider && one.told.model === model,
    );
    if (known !== undefined) return known;
    const told = { provider, model };
    const judged = { settings, told, ...(await this.#judge(guardrails, told)) };
    this.#judged.push(judged);
    return judged;
  }

  async #judge(guardrails: readonly Guardrail[], target: ToldTarget): Promise<Input> {
    const exchange = this.#exchange;
    const { params, body } = exchange;
    const { passages, lastCount } = this.#texts();
    const subject = subjectOf(exchange, this.#judgedTexts.endpoint, target);
    const judgement = await judgeCall(
      guardrails,
      { ...subject, side: 'input', answer: null, passages, lastCount },
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

  #texts(): AskedTexts {
    const { asked } = this.#judgedTexts;
    this.#asked ??=
      asked === null
        ? { passages: [], lastCount: 0 }
        : requestPassages(asked, this.#exchange.params);
    return this.#asked;
  }
}

/** What is told on the side of the answer as on that of the request. */
export function subjectOf(exchange: Exchange, endpoint: string, { provider, model }: ToldTarget) {
  const { params, metadata, request, id } = exchange;
  const told = { endpoint, params, metadata, headers: request.headers, provider, model };
  return { ...told, isStream: params.stream === true, traceId: id };
}

/** Nobody waits for those that only take note. `now` in ms since the epoch. */
export function judgeCall(
  guardrails: readonly Guardrail[],
  judged: Judged,
  now: number,
): Promise<Judgement> {
  const aside = guardrails.filter(({ isAsync }) => isAsync);
  if (aside.length > 0) void judge(aside, judged, now);
  const waitedFor = guardrails.filter(({ isAsync }) => !isAsync);
  return judge(waitedFor, judged, now);
}
