/** Applies the parameters of a target to a request before guardrails judge it, so that they judge what is sent. */
import type { CheckModelCalls } from '../../guardrails/check-model-calls.ts';
import type { TargetSettings } from '../../model/configs/config-tree.ts';
import { nestedParamSettings } from '../../model/configs/nested-params.ts';
import { paramChanges } from '../../model/configs/params.ts';
import { run } from '../../slices.ts';
import type { Exchange } from '../callers/exchange.ts';
import { changeBody, isLong } from '../transfer/changed-body.ts';
import { GuardedRequests } from './guarded-request.ts';
import { textFormsOf } from './text-forms.ts';

type ParamSettings = Pick<TargetSettings, 'defaultParams' | 'overrideParams' | 'dropParams'>;

/** The judgements of one request, by the parameters that targets add to it. */
export class ConfiguredRequests {
  readonly #exchange: Exchange;
  readonly #modelCalls: CheckModelCalls;
  /** For targets that change no text. */
  #plain: GuardedRequests | null = null;
  /** For the last target that changes some; earlier ones are dropped, because each has a body of its own. */
  #latest: { readonly settings: ParamSettings; readonly requests: GuardedRequests } | null = null;

  constructor(exchange: Exchange, modelCalls: CheckModelCalls) {
    this.#exchange = exchange;
    this.#modelCalls = modelCalls;
  }

  /** @throws GatewayError for a body with duplicate members, or that is nested too deeply */
  async of(settings: ParamSettings): Promise<GuardedRequests> {
    if (this.#latest !== null && isSame(this.#latest.settings, settings)) {
      return this.#latest.requests;
    }
    const exchange = await configuredExchange(this.#exchange, settings);
    if (exchange === this.#exchange) {
      this.#plain ??= this.#requests(exchange);
      return this.#plain;
    }
    const requests = this.#requests(exchange);
    this.#latest = { settings, requests };
    return requests;
  }

  #requests(exchange: Exchange): GuardedRequests {
    return new GuardedRequests(exchange, textFormsOf(exchange), this.#modelCalls);
  }
}

function isSame(one: ParamSettings, other: ParamSettings): boolean {
  return (
    one.defaultParams === other.defaultParams &&
    one.overrideParams === other.overrideParams &&
    one.dropParams === other.dropParams
  );
}

/** The request with the parameters of the target; the same one where they change no text. */
async function configuredExchange(exchange: Exchange, settings: ParamSettings): Promise<Exchange> {
  const { path, params, body, isJson } = exchange;
  if (body === null || !isJson) return exchange;
  const changes = paramChanges(params, nestedParamSettings(settings, params, path));
  if (changes === null || ![...changes].some(mayBeText)) return exchange;
  return {
    ...exchange,
    body: await run(changeBody(body, changes), isLong(body)),
    params: { ...params, ...Object.fromEntries(changes) },
    hasConfigParams: true,
  };
}

/** Models, numbers and flags are no texts. */
function mayBeText([name, value]: readonly [string, unknown]): boolean {
  return name !== 'model' && typeof value !== 'number' && typeof value !== 'boolean';
}
