/** Knows the calls of one request: each admitted before it is made and charged when it is over, whichever of them is the last. */
import type { LimitLeft } from '../../ledger/account.ts';
import type { Account, Ledger } from '../../ledger/ledger.ts';
import { type Limit, usageAt } from '../../ledger/limit.ts';
import type { PolicyTerms } from '../../ledger/limits-of-request.ts';
import type { Leaf } from '../../model/config-tree.ts';
import type { Call } from '../../upstream/call.ts';
import type { Origins } from '../../upstream/origins.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { RequestTrace } from '../logs/request-trace.ts';
import { type Admission, type Asking, admit, lostUsage } from '../metering/admit.ts';
import { type LimitSwitches, limitsOf } from '../metering/limits.ts';
import { Meter } from '../metering/meter.ts';
import type { GatewayConfig } from '../targets/resolve-config.ts';
import type { ResolvedTarget, Targets } from '../targets/resolve-target.ts';
import type { Caller } from '../transfer/caller.ts';
import { isEventStream } from '../transfer/relay.ts';
import {
  type AnswerCache,
  type CacheStatus,
  type CacheUse,
  cacheUseOf,
  type KeptAnswer,
} from './answer-cache.ts';
import { type Attempted, answeredBefore, attempt } from './attempt.ts';
import { ChargedCalls } from './charged-calls.ts';

/** Of the gateway. */
interface CallingParts {
  readonly ledger: Ledger;
  readonly origins: Origins;
  readonly targets: Targets;
  readonly answers: AnswerCache;
  /** False: limits count, and refuse nothing. */
  readonly enforcesLimits: boolean;
  readonly limitsBy: LimitSwitches;
}

/** Of the request. */
interface CallingRequest {
  readonly exchange: Exchange;
  readonly config: GatewayConfig;
  readonly policies: readonly PolicyTerms[];
  readonly caller: Caller;
  /** Null where nobody records it. */
  readonly trace: RequestTrace | null;
}

/** How long an answer is waited for whose caller has gone, where it has to be known what it used or made. */
const lingerMs = 10_000;

export class ProviderCalls {
  readonly #parts: CallingParts;
  readonly #request: CallingRequest;
  readonly #account: Account;
  /** Of the call that is not charged yet. */
  #open: {
    readonly admission: Admission;
    readonly use: CacheUse;
    attempted: Attempted | null;
  } | null = null;
  /** What of it was charged, for its record. */
  readonly charged = new ChargedCalls();
  /** What the answer that comes is kept under; null for none that is. */
  #keptUnder: string | null = null;
  /** Whether anything may have come to a provider. */
  isSent = false;
  #isAwaited = false;

  constructor(parts: CallingParts, request: CallingRequest) {
    this.#parts = parts;
    this.#request = request;
    this.#account = parts.ledger.open();
  }

  /** @throws GatewayError where the leaf names no provider that can be called */
  targetOf(leaf: Leaf, exchange: Exchange): ResolvedTarget | Promise<ResolvedTarget> {
    return this.#parts.targets.resolve(leaf, exchange, this.#request.config);
  }

  /**
   * `exchange` with what guardrails have made of its body.
   *
   * @throws GatewayError where the target cannot be called, or its limits do not let it be
   */
  async call(leaf: Leaf, exchange: Exchange): Promise<Attempted> {
    this.#endCall();
    const { config, policies, caller, trace } = this.#request;
    const { origins, answers, enforcesLimits, limitsBy } = this.#parts;
    const resolved = this.targetOf(leaf, exchange);
    const target = resolved instanceof Promise ? await resolved : resolved;
    const limits = limitsOf(exchange, target, config, policies, enforcesLimits, limitsBy);
    const use = cacheUseOf(leaf.settings, target, exchange);
    const kept = answers.find(use, exchange.now);
    if (kept !== null) return this.#answerBefore(target, limits, kept);
    const asking = { account: this.#account, target, limits, exchange };
    const asked = admit(asking);
    const admission = asked instanceof Promise ? await asked : asked;
    this.#open = { admission, use, attempted: null };
    this.#isAwaited = exchange.making !== undefined;
    const { retry, requestTimeoutMs: timeoutMs } = leaf.settings;
    const { lingerMs } = this;
    const cacheStatus = statusOf(use);
    const admitAgain = (tried: Attempted) => this.#admitAgain(tried, asking);
    const how = { origins, retry, timeoutMs, caller, trace, lingerMs, cacheStatus, admitAgain };
    const attempted = await attempt(admission.target, how);
    this.#open.attempted = attempted;
    this.isSent ||= attempted.isSent;
    return attempted;
  }

  /** What a provider may have done for a try counts beside what it does for the next one. */
  async #admitAgain(tried: Attempted, asking: Asking): Promise<ResolvedTarget> {
    const { admission, use } = this.#open!;
    this.isSent ||= tried.isSent;
    if (hasUsedNothing(tried)) return admission.target;
    this.#open!.attempted = tried;
    this.#endCall();
    const again = await admit(asking);
    this.#open = { admission: again, use, attempted: null };
    return again.target;
  }

  /** Uses no tokens and costs nothing, but is a request like others. */
  async #answerBefore(
    target: ResolvedTarget,
    limits: readonly Limit[],
    kept: KeptAnswer,
  ): Promise<Attempted> {
    const counted = limits.filter(({ type }) => type === 'requests');
    const { exchange } = this.#request;
    await admit({ account: this.#account, target, limits: counted, exchange });
    this.isSent = true;
    return answeredBefore(target, kept);
  }

  /** All of the answer of the last call, to be given again where the config says so. */
  keep({ status, headers }: Call, body: Buffer): void {
    const { now } = this.#request.exchange;
    if (this.#keptUnder === null) return;
    this.#parts.answers.keep(this.#keptUnder, { status, headers, body }, now);
  }

  /** What is left of the limits of the last call. */
  left(): readonly LimitLeft[] {
    return this.#account.left();
  }

  /** 0 where nobody has to know what a call used, or made. */
  get lingerMs(): number {
    return this.#isAwaited || this.#open?.admission.isCounted === true ? lingerMs : 0;
  }

  /** Watches the answer of the last call, and charges it. */
  meter(): Meter {
    const { admission, use, attempted } = this.#open!;
    this.#open = null;
    // One that was cut short for a limit is no answer for others.
    const isAsAsked = admission.outputTokens >= admission.bound.outputTokens;
    this.#keptUnder = isAsAsked ? use.mark : null;
    const { call, status } = attempted!;
    const meter = new Meter(admission, this.#account, {
      isStream: call !== null && isEventStream(call.headers),
      status,
    });
    this.charged.watch(attempted!, meter);
    return meter;
  }

  /** To be called at the end, whatever it was: what was not charged is, or given back. */
  close(): void {
    this.#closeOpen();
    if (!this.isSent) this.#account.uncount();
  }

  /** Another one may follow. */
  #endCall(): void {
    this.#closeOpen();
    this.charged.endCall();
  }

  /** A call whose answer nobody gets: refused by the provider, or without an answer. */
  #closeOpen(): void {
    const open = this.#open;
    this.#open = null;
    if (open === null) return;
    const { admission, attempted } = open;
    if (attempted === null || hasUsedNothing(attempted)) {
      this.#account.release();
      return;
    }
    // Where nobody can say what it did, all that it may have done counts.
    const usage = lostUsage(admission);
    const used = usageAt(admission.bound.price, usage);
    const { costUnits } = used;
    this.#account.settle(used);
    this.charged.lose(attempted, { usage, costUnits, isEstimated: true, model: null });
  }
}

function statusOf({ mark, isRefresh }: CacheUse): CacheStatus {
  if (mark === null) return 'DISABLED';
  return isRefresh ? 'REFRESH' : 'MISS';
}

/** Nothing of it came to the provider, or the provider has refused it. */
function hasUsedNothing({ call, status, isSent }: Attempted): boolean {
  return !isSent || (call !== null && status >= 300);
}
