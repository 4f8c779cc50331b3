/** Calls models for checks of guardrails: under the limits of the judged request, with a log entry of their own. */
import {
  CallNotSent,
  type CheckModelCall,
  type CheckModelCalls,
} from '../../../guardrails/check-model-calls.ts';
import { type ConfigLeaf, defaultTargetSettings } from '../../../model/configs/config-tree.ts';
import { monotonicMs } from '../../../monotonic.ts';
import { OutboundFailure, type OutboundResponse } from '../../../upstream/outbound.ts';
import type { Exchange } from '../../callers/exchange.ts';
import type { GatewayConfig } from '../../targets/resolve-config.ts';
import { Caller } from '../../transfer/caller.ts';
import { GatewayError } from '../../transfer/gateway-error.ts';
import { SignalReceiver } from '../../transfer/signal-receiver.ts';
import { gatewayErrorOf } from '../error-response.ts';
import type { FailedOutcome } from '../outcome.ts';
import { ProviderCalls } from '../provider-calls.ts';
import { RecordDraft } from '../record-draft.ts';
import type { CallContext, GatewayServices } from '../request-context.ts';
import { isFailure, readWholeResponse } from '../whole-response.ts';

/** Opens calls that share the account of the judged request where it has one. */
type OpenCalls = (exchange: Exchange, caller: Caller) => ProviderCalls | Promise<ProviderCalls>;

interface CheckCallsOptions {
  readonly services: GatewayServices;
  /** The judged request. */
  readonly exchange: Exchange;
  readonly config: GatewayConfig;
  readonly open: OpenCalls;
  /** Notes that a provider may have received a call of a check. */
  readonly onSent: () => void;
}

/** Calls of checks of a request, which is counted once together with them. */
export function checkCallsOf({ services, exchange, config, calls }: CallContext): CheckModelCalls {
  return new CheckCalls({
    services,
    exchange,
    config,
    open: (request, caller) => calls.fork(request, caller),
    onSent: () => {
      calls.charged.hasCheckCalls = true;
    },
  });
}

/** Calls of checks of a session, each of which is counted like a response of the session. */
export function sessionCheckCalls(
  services: GatewayServices,
  exchange: Exchange,
  config: GatewayConfig,
): CheckModelCalls {
  return new CheckCalls({
    services,
    exchange,
    config,
    open: async (request, caller) => {
      const policies = await services.policies.of(request.key.organisationId);
      return new ProviderCalls(services, request, config, policies, caller, null);
    },
    onSent: () => undefined,
  });
}

class CheckCalls implements CheckModelCalls {
  readonly #options: CheckCallsOptions;

  constructor(options: CheckCallsOptions) {
    this.#options = options;
  }

  async post(call: CheckModelCall): Promise<OutboundResponse> {
    const { services, exchange, config } = this.#options;
    const request = exchangeOf(exchange, call, services.now());
    const { id, path, now } = request;
    const draft = new RecordDraft({ id, path, beganMs: monotonicMs() }, now, null, false);
    Object.assign(draft, { key: exchange.key, config, exchange: request });
    try {
      const answered = await this.#send(draft, request, leafOf(call));
      if (answered instanceof GatewayError) throw lossOf(answered);
      return answered;
    } catch (thrown) {
      if (thrown instanceof OutboundFailure) throw thrown;
      draft.error = gatewayErrorOf(services, id, thrown);
      throw new CallNotSent(draft.error.message, { cause: thrown });
    } finally {
      if (draft.calls?.isSent === true) this.#options.onSent();
      draft.calls?.close();
      services.record(draft.toRecord(draft.error?.status ?? draft.outcome?.status ?? 500));
    }
  }

  /**
   * Returns the error of the call when there is no complete response.
   *
   * @throws GatewayError for a call that is not sent
   */
  async #send(
    draft: RecordDraft,
    request: Exchange,
    leaf: ConfigLeaf,
  ): Promise<OutboundResponse | GatewayError> {
    const caller = new Caller(new SignalReceiver(undefined));
    const calls = await this.#options.open(request, caller);
    draft.calls = calls;
    const outcome = await calls.call(leaf, request, null);
    draft.setOutcome(outcome);
    if (outcome.kind !== 'live') return failed(draft, (outcome as FailedOutcome).error);
    const options = { calls, caller, onBytes: null, outlivesCaller: false };
    const read = await readWholeResponse(outcome, options);
    draft.metered = read.metered;
    if (isFailure(read)) return failed(draft, read.error);
    return { status: outcome.status, headers: read.headers, body: read.body };
  }
}

function failed(draft: RecordDraft, error: GatewayError): GatewayError {
  draft.error = error;
  return error;
}

/** A call that took too long is not repeated. */
function lossOf(error: GatewayError): OutboundFailure {
  const reason = error.code === 'request_timeout' ? 'late' : 'lost';
  return new OutboundFailure(error.message, reason, { cause: error });
}

/** The provider is called with nothing of the config and of the caller. */
function leafOf({ provider, timeoutMs }: CheckModelCall): ConfigLeaf {
  return {
    kind: 'leaf',
    path: 'guardrail',
    weight: 1,
    settings: { ...defaultTargetSettings, provider, requestTimeoutMs: timeoutMs },
    breaker: null,
    isMeasured: false,
    hedge: null,
  };
}

function exchangeOf(
  { id, headerPrefix, key, sentKey, metadata }: Exchange,
  { path, params }: CheckModelCall,
  now: number,
): Exchange {
  return {
    id,
    request: { method: 'POST', headers: { 'content-type': 'application/json' } },
    header: () => null,
    headerPrefix,
    path,
    query: '',
    errorForm: 'openai',
    now,
    key,
    sentKey,
    credential: null,
    body: Buffer.from(JSON.stringify(params)),
    params,
    isJson: true,
    metadata,
  };
}
