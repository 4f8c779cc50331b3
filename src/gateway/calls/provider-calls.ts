/** Makes the provider calls of one request: admits each call before it is sent and settles it when it is over. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LimitLeft } from '../../ledger/account.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { PolicyTerms } from '../../ledger/request-limits.ts';
import type { ConfigLeaf } from '../../model/configs/config-tree.ts';
import { CallCut } from '../../upstream/call.ts';
import type { Origins } from '../../upstream/origins.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { RequestTrace } from '../logs/request-trace.ts';
import { type LimitSwitches, limitsOf } from '../metering/limits.ts';
import type { Meter } from '../metering/meter.ts';
import type { GatewayConfig } from '../targets/resolve-config.ts';
import type { ResolvedTarget, Targets } from '../targets/resolve-target.ts';
import type { Caller } from '../transfer/caller.ts';
import { isLong } from '../transfer/changed-body.ts';
import { attempt } from './attempt.ts';
import { admittedBatch } from './batch-requests.ts';
import { CallAccount, countAnswer } from './call-account.ts';
import type { ChargedCalls } from './charged-calls.ts';
import { estimatedCount } from './estimated-count.ts';
import { cachedOutcome, type TargetOutcome } from './outcome.ts';
import { requireServed } from './raw-paths.ts';
import {
  type CacheStatus,
  type CacheUse,
  cacheUseOf,
  type ResponseCache,
} from './response-cache.ts';
import { ResponseStoring } from './response-storing.ts';
import type { SemanticLookup } from './semantic-lookup.ts';

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
  readonly #config: GatewayConfig;
  readonly #policies: readonly PolicyTerms[];
  readonly #caller: Caller;
  readonly #trace: RequestTrace | null;
  #account: CallAccount;
  /** Stores the response of the last call in the caches. */
  storing: ResponseStoring;
  #createsObject = false;

  /** `trace` is null when the request is not traced. */
  constructor(
    services: CallServices,
    exchange: Exchange,
    config: GatewayConfig,
    policies: readonly PolicyTerms[],
    caller: Caller,
    trace: RequestTrace | null,
    account = new CallAccount(services.ledger.open(), services.countsAbortedStreams),
  ) {
    this.#services = services;
    this.#config = config;
    this.#policies = policies;
    this.#caller = caller;
    this.#trace = trace;
    this.#account = account;
    this.storing = new ResponseStoring(services.responses, exchange.now);
  }

  /** Concurrent calls for the same request, which is counted once; to be closed on their own. */
  fork(exchange: Exchange, caller: Caller): ProviderCalls {
    const account = this.#account.fork();
    const [config, policies, trace] = [this.#config, this.#policies, this.#trace];
    return new ProviderCalls(this.#services, exchange, config, policies, caller, trace, account);
  }

  /** Continues with the calls of a fork, which answered first. */
  takeOver(fork: ProviderCalls): void {
    this.#account.closeForOther();
    fork.#account.charged.addEarlier(this.charged.except(null));
    this.#account = fork.#account;
    this.storing = fork.storing;
  }

  /** Gives up the last call because a concurrent one answered. */
  giveUp(outcome: TargetOutcome): void {
    this.#account.giveUp(outcome);
  }

  /** @throws GatewayError when the leaf names no provider that can be called */
  targetOf(leaf: ConfigLeaf, exchange: Exchange): ResolvedTarget | Promise<ResolvedTarget> {
    return this.#services.targets.resolve(leaf, exchange, this.#config);
  }

  /**
   * Resolves the target, looks into the caches, admits the call under its limits and makes it. The body of
   * `exchange` may have been changed by guardrails. `side` is set for one of two concurrent calls.
   *
   * @throws GatewayError when the target cannot be called or its limits reject the call
   */
  async call(
    leaf: ConfigLeaf,
    exchange: Exchange,
    semantic: SemanticLookup | null,
    side: Caller | null = null,
  ): Promise<TargetOutcome> {
    const account = this.#account;
    account.endCall();
    this.storing.begin(null, null);
    const { responses, origins, enforcesLimits, limitsBy } = this.#services;
    const resolved = this.targetOf(leaf, exchange);
    const target = resolved instanceof Promise ? await resolved : resolved;
    const config = this.#config;
    const policies = this.#policies;
    const limits = limitsOf(exchange, target, config, policies, enforcesLimits, limitsBy);
    requireServed(exchange, leaf, target, limits);
    if (target.isEstimated) {
      return countAnswer(account, limits, exchange, estimatedCount(target, exchange));
    }
    const hasLongBody = isLong(exchange.body);
    if (hasLongBody) await nextTurn();
    const wanted = cacheUseOf(leaf.settings, target, exchange);
    const use = wanted instanceof Promise ? await wanted : wanted;
    const cached = responses.find(use, exchange.now);
    if (hasLongBody) await nextTurn();
    const stored = cached ?? (semantic === null ? null : await semantic.find(target));
    if (stored !== null) {
      const status = cached === null ? 'SEMANTIC HIT' : 'HIT';
      return countAnswer(account, limits, exchange, cachedOutcome(target, stored, status));
    }
    const batch =
      target.metering === 'batches'
        ? await admittedBatch(target, limits, origins, exchange.now)
        : null;
    const admitted = account.admit(target, limits, exchange, batch);
    const admission = admitted instanceof Promise ? await admitted : admitted;
    account.open(admission);
    if (side?.isGone === true) throw new CallCut('another call has answered');
    this.storing.begin(use.key, semantic);
    this.#createsObject = exchange.trackedCreation !== undefined;
    const { retry, requestTimeoutMs } = leaf.settings;
    const outcome = await attempt(admission.target, {
      origins,
      retry,
      timeoutMs: requestTimeoutMs,
      caller: side ?? this.#caller,
      trace: this.#trace,
      lingerMs: side === null ? this.lingerMs : 0,
      cacheStatus: cacheStatusOf(use, semantic),
      admitAgain: (failed) => account.admitAgain(failed, target, limits, exchange, batch),
    });
    account.setOutcome(outcome);
    return outcome;
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
    if (!this.#account.isUncut) this.storing.begin(null, null);
    return this.#account.meter();
  }

  /** Settles or releases what is still reserved; called once at the end of every request. */
  close(): void {
    this.storing.close();
    this.#account.close();
  }
}

function cacheStatusOf({ key, isRefresh }: CacheUse, semantic: SemanticLookup | null): CacheStatus {
  if (semantic !== null) return semantic.isRefresh ? 'REFRESH' : 'SEMANTIC MISS';
  if (key === null) return 'DISABLED';
  return isRefresh ? 'REFRESH' : 'MISS';
}
