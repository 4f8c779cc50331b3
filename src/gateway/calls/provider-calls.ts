/** Makes the provider calls of one request: admits each call before it is sent and settles it when it is over. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LimitLeft } from '../../ledger/account.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Limit } from '../../ledger/limit.ts';
import type { PolicyTerms } from '../../ledger/request-limits.ts';
import type { ConfigLeaf } from '../../model/configs/config-tree.ts';
import type { Call } from '../../upstream/call.ts';
import type { Origins } from '../../upstream/origins.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { RequestTrace } from '../logs/request-trace.ts';
import { type LimitSwitches, limitsOf } from '../metering/limits.ts';
import type { Meter } from '../metering/meter.ts';
import type { GatewayConfig } from '../targets/resolve-config.ts';
import type { ResolvedTarget, Targets } from '../targets/resolve-target.ts';
import type { Caller } from '../transfer/caller.ts';
import { isLong } from '../transfer/changed-body.ts';
import { attempt, type CallOutcome } from './attempt.ts';
import { CallAccount } from './call-account.ts';
import type { ChargedCalls } from './charged-calls.ts';
import { estimatedCount } from './estimated-count.ts';
import { cachedOutcome, hasNoUsage, type TargetOutcome } from './outcome.ts';
import { requireServed } from './raw-paths.ts';
import {
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
  readonly countsAbortedStreams: boolean;
  readonly limitsBy: LimitSwitches;
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
  readonly #account: CallAccount;
  /** Key under which the coming response is cached; null when it is not cached. */
  #cacheKey: string | null = null;
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
    this.#account = new CallAccount(services.ledger, services.countsAbortedStreams);
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
    const account = this.#account;
    account.endCall();
    const { responses, enforcesLimits, limitsBy } = this.#services;
    const resolved = this.targetOf(leaf, exchange);
    const target = resolved instanceof Promise ? await resolved : resolved;
    const config = this.#config;
    const policies = this.#policies;
    const limits = limitsOf(exchange, target, config, policies, enforcesLimits, limitsBy);
    requireServed(exchange, leaf, target, limits);
    if (target.isEstimated) {
      return this.#answer(limits, estimatedCount(target, exchange));
    }
    const hasLongBody = isLong(exchange.body);
    if (hasLongBody) await nextTurn();
    const wanted = cacheUseOf(leaf.settings, target, exchange);
    const use = wanted instanceof Promise ? await wanted : wanted;
    const cached = responses.find(use, exchange.now);
    if (hasLongBody) await nextTurn();
    if (cached !== null) return this.#answer(limits, cachedOutcome(target, cached));
    const admitted = account.admit(target, limits, exchange);
    const admission = admitted instanceof Promise ? await admitted : admitted;
    account.open(admission);
    this.#cacheKey = use.key;
    this.#createsObject = exchange.trackedCreation !== undefined;
    const { retry, requestTimeoutMs } = leaf.settings;
    const outcome = await attempt(admission.target, {
      origins: this.#services.origins,
      retry,
      timeoutMs: requestTimeoutMs,
      caller: this.#caller,
      trace: this.#trace,
      lingerMs: this.lingerMs,
      cacheStatus: cacheStatusOf(use),
      admitAgain: (failed) => this.#admitAgain(failed, target, limits, exchange),
    });
    account.setOutcome(outcome);
    return outcome;
  }

  /** Charges what a failed try may have used, in addition to what its retry will use. */
  async #admitAgain(
    failed: CallOutcome,
    target: ResolvedTarget,
    limits: readonly Limit[],
    exchange: Exchange,
  ): Promise<ResolvedTarget> {
    const account = this.#account;
    if (hasNoUsage(failed)) {
      account.isSent ||= failed.isSent;
      return failed.target;
    }
    account.setOutcome(failed);
    account.endCall();
    const admission = await account.admit(target, limits, exchange);
    account.open(admission);
    return admission.target;
  }

  /** An answer of the gateway uses no tokens and costs nothing, but counts as a request. */
  async #answer<T extends TargetOutcome>(limits: readonly Limit[], outcome: T): Promise<T> {
    const requestLimits = limits.filter(({ type }) => type === 'requests');
    await this.#account.admit(outcome.target, requestLimits, this.#exchange);
    this.#account.isSent = true;
    return outcome;
  }

  /** Adds the complete response of the last call to the cache if the config asks for it. */
  cache({ status, headers }: Call, body: Buffer): void {
    if (this.#cacheKey === null) return;
    const { now } = this.#exchange;
    this.#services.responses.add(this.#cacheKey, { status, headers, body }, now);
  }

  /** Charged calls, for the log entry. */
  get charged(): ChargedCalls {
    return this.#account.charged;
  }

  /** Whether a provider may have received anything. */
  get isSent(): boolean {
    return this.#account.isSent;
  }

  /** Remaining units of the limits of the last call. */
  left(): readonly LimitLeft[] {
    return this.#account.left();
  }

  /** 0 when neither usage nor effect of the call must be known. */
  get lingerMs(): number {
    return this.#createsObject || this.#account.isCounted ? lingerMsUsual : 0;
  }

  /** Returns the meter that reads the response of the last call and charges it. */
  meter(): Meter {
    // A response that a limit cut short does not answer the same request of somebody else.
    if (!this.#account.isUncut) this.#cacheKey = null;
    return this.#account.meter();
  }

  /** Settles or releases what is still reserved; called once at the end of every request. */
  close(): void {
    this.#account.close();
  }
}

function cacheStatusOf({ key, isRefresh }: CacheUse): CacheStatus {
  if (key === null) return 'DISABLED';
  return isRefresh ? 'REFRESH' : 'MISS';
}
