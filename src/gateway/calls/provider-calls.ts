/** Makes the provider calls of one request: admits each call before it is sent and charges it when it is over. */
import type { LimitLeft } from '../../ledger/account.ts';
import type { Account, Ledger } from '../../ledger/ledger.ts';
import { type Limit, usageAt } from '../../ledger/limit.ts';
import type { PolicyTerms } from '../../ledger/limits-of-request.ts';
import type { ConfigLeaf } from '../../model/configs/config-tree.ts';
import type { Call } from '../../upstream/call.ts';
import type { Origins } from '../../upstream/origins.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { RequestTrace } from '../logs/request-trace.ts';
import { type Admission, type AdmissionRequest, admit, lostUsage } from '../metering/admit.ts';
import { type LimitSwitches, limitsOf } from '../metering/limits.ts';
import { Meter } from '../metering/meter.ts';
import type { GatewayConfig } from '../targets/resolve-config.ts';
import type { ResolvedTarget, Targets } from '../targets/resolve-target.ts';
import type { Caller } from '../transfer/caller.ts';
import { isEventStream } from '../transfer/relay.ts';
import { attempt, type CallOutcome } from './attempt.ts';
import { ChargedCalls } from './charged-calls.ts';
import { cachedOutcome, hasNoUsage, type TargetOutcome } from './outcome.ts';
import {
  type CachedResponse,
  type CacheStatus,
  type CacheUse,
  cacheUseOf,
  type ResponseCache,
} from './response-cache.ts';

/** Services of the gateway that calls use. */
interface CallServices {
  readonly ledger: Ledger;
  readonly origins: Origins;
  readonly targets: Targets;
  readonly responses: ResponseCache;
  /** False: limits count usage but reject nothing. */
  readonly enforcesLimits: boolean;
  readonly limitsBy: LimitSwitches;
}

/** A call that has been admitted and not charged yet. */
interface OpenCall {
  readonly admission: Admission;
  readonly use: CacheUse;
  outcome: TargetOutcome | null;
}

/** How long a response is read after its caller has gone when its usage or effect must be known. */
const lingerMsUsual = 10_000;

export class ProviderCalls {
  readonly #services: CallServices;
  readonly #exchange: Exchange;
  readonly #config: GatewayConfig;
  readonly #policies: readonly PolicyTerms[];
  readonly #caller: Caller;
  readonly #trace: RequestTrace | null;
  readonly #account: Account;
  #open: OpenCall | null = null;
  /** Charged calls, for the log entry. */
  readonly charged = new ChargedCalls();
  /** Key under which the coming response is cached; null when it is not cached. */
  #cacheKey: string | null = null;
  /** Whether a provider may have received anything. */
  isSent = false;
  #createsObject = false;

  /** `trace` is null when the request is not traced. */
  constructor(
    services: CallServices,
    exchange: Exchange,
    config: GatewayConfig,
    policies: readonly PolicyTerms[],
    caller: Caller,
    trace: RequestTrace | null,
  ) {
    this.#services = services;
    this.#exchange = exchange;
    this.#config = config;
    this.#policies = policies;
    this.#caller = caller;
    this.#trace = trace;
    this.#account = services.ledger.open();
  }

  /** @throws GatewayError when the leaf names no provider that can be called */
  targetOf(leaf: ConfigLeaf, exchange: Exchange): ResolvedTarget | Promise<ResolvedTarget> {
    return this.#services.targets.resolve(leaf, exchange, this.#config);
  }

  /**
   * Resolves the target, looks into the cache, admits the call under its limits and makes it. The body of
   * `exchange` may have been changed by guardrails.
   *
   * @throws GatewayError when the target cannot be called or its limits reject the call
   */
  async call(leaf: ConfigLeaf, exchange: Exchange): Promise<TargetOutcome> {
    this.#endCall();
    const { responses, enforcesLimits, limitsBy } = this.#services;
    const resolved = this.targetOf(leaf, exchange);
    const target = resolved instanceof Promise ? await resolved : resolved;
    const limits = limitsOf(
      exchange,
      target,
      this.#config,
      this.#policies,
      enforcesLimits,
      limitsBy,
    );
    const use = cacheUseOf(leaf.settings, target, exchange);
    const cached = responses.find(use, exchange.now);
    if (cached !== null) return this.#useCached(target, limits, cached);
    const request = { account: this.#account, target, limits, exchange };
    const admitted = admit(request);
    const admission = admitted instanceof Promise ? await admitted : admitted;
    this.#open = { admission, use, outcome: null };
    this.#createsObject = exchange.making !== undefined;
    const outcome = await this.#attempt(leaf, admission, use, request);
    this.#open.outcome = outcome;
    this.isSent ||= outcome.isSent;
    return outcome;
  }

  #attempt(
    { settings: { retry, requestTimeoutMs } }: ConfigLeaf,
    admission: Admission,
    use: CacheUse,
    request: AdmissionRequest,
  ): Promise<CallOutcome> {
    return attempt(admission.target, {
      origins: this.#services.origins,
      retry,
      timeoutMs: requestTimeoutMs,
      caller: this.#caller,
      trace: this.#trace,
      lingerMs: this.lingerMs,
      cacheStatus: cacheStatusOf(use),
      admitAgain: (outcome) => this.#admitAgain(outcome, request),
    });
  }

  /** Charges what a failed try may have used, in addition to what its retry will use. */
  async #admitAgain(outcome: CallOutcome, request: AdmissionRequest): Promise<ResolvedTarget> {
    const open = this.#open!;
    this.isSent ||= outcome.isSent;
    if (hasNoUsage(outcome)) return open.admission.target;
    open.outcome = outcome;
    this.#endCall();
    const admission = await admit(request);
    this.#open = { admission, use: open.use, outcome: null };
    return admission.target;
  }

  /** A cached response uses no tokens and costs nothing, but counts as a request. */
  async #useCached(
    target: ResolvedTarget,
    limits: readonly Limit[],
    response: CachedResponse,
  ): Promise<TargetOutcome> {
    const requestLimits = limits.filter(({ type }) => type === 'requests');
    await admit({
      account: this.#account,
      target,
      limits: requestLimits,
      exchange: this.#exchange,
    });
    this.isSent = true;
    return cachedOutcome(target, response);
  }

  /** Adds the complete response of the last call to the cache if the config asks for it. */
  cache({ status, headers }: Call, body: Buffer): void {
    if (this.#cacheKey === null) return;
    this.#services.responses.add(this.#cacheKey, { status, headers, body }, this.#exchange.now);
  }

  /** What is left of the limits of the last call. */
  left(): readonly LimitLeft[] {
    return this.#account.left();
  }

  /** 0 when neither usage nor effect of the call must be known. */
  get lingerMs(): number {
    return this.#createsObject || this.#open?.admission.isCounted === true ? lingerMsUsual : 0;
  }

  /** Returns the meter that reads the response of the last call and charges it. */
  meter(): Meter {
    const { admission, use, outcome } = this.#open!;
    this.#open = null;
    // A response that a limit cut short does not answer the same request of somebody else.
    const isUncut = admission.outputTokens >= admission.bound.outputTokens;
    this.#cacheKey = isUncut ? use.key : null;
    if (outcome === null) throw new Error('The call has no outcome yet');
    const isStream = outcome.kind === 'live' && isEventStream(outcome.call.headers);
    const meter = new Meter(admission, this.#account, outcome.status, isStream);
    this.charged.addMeter(outcome, meter);
    return meter;
  }

  /** Settles or releases what is still reserved; called once at the end of every request. */
  close(): void {
    this.#closeOpen();
    if (!this.isSent) this.#account.uncount();
  }

  #endCall(): void {
    this.#closeOpen();
    this.charged.endCall();
  }

  /** Closes a call whose response nobody receives: the provider refused it or did not respond. */
  #closeOpen(): void {
    const open = this.#open;
    this.#open = null;
    if (open === null) return;
    const { admission, outcome } = open;
    if (outcome === null || hasNoUsage(outcome)) {
      this.#account.release();
      return;
    }
    // The usage is unknown, so everything the call may have used is charged.
    const usage = lostUsage(admission);
    const used = usageAt(admission.bound.price, usage);
    const { costUnits } = used;
    this.#account.settle(used);
    this.charged.addLost(outcome, { usage, costUnits, isEstimated: true, model: null });
  }
}

function cacheStatusOf({ key, isRefresh }: CacheUse): CacheStatus {
  if (key === null) return 'DISABLED';
  return isRefresh ? 'REFRESH' : 'MISS';
}
