/** Knows the calls of one request: each admitted before it is made and charged when it is over, whichever of them is the last. */
import type { LimitLeft } from '../ledger/account.ts';
import type { Account, Ledger } from '../ledger/ledger.ts';
import type { Limit } from '../ledger/limit.ts';
import type { PolicyTerms } from '../ledger/limits-of-request.ts';
import type { Leaf } from '../model/config-tree.ts';
import type { Call } from '../upstream/call.ts';
import type { Origins } from '../upstream/origins.ts';
import { type Admission, admit, grantedUsage, usageOf } from './admit.ts';
import {
  type AnswerCache,
  type CacheStatus,
  type CacheUse,
  cacheUseOf,
  type KeptAnswer,
} from './answer-cache.ts';
import { type Attempted, answeredBefore, attempt } from './attempt.ts';
import type { Caller } from './caller.ts';
import type { Exchange } from './exchange.ts';
import { limitsOf } from './limits.ts';
import { Meter } from './meter.ts';
import { isEventStream } from './relay.ts';
import type { RequestTrace } from './request-trace.ts';
import type { GatewayConfig } from './resolve-config.ts';
import type { ResolvedTarget, Targets } from './resolve-target.ts';

export interface ProviderCallsOptions {
  readonly ledger: Ledger;
  readonly origins: Origins;
  readonly targets: Targets;
  readonly answers: AnswerCache;
  readonly exchange: Exchange;
  readonly config: GatewayConfig;
  readonly policies: readonly PolicyTerms[];
  /** False: limits count, and refuse nothing. */
  readonly enforcesLimits: boolean;
  readonly caller: Caller;
  /** Null where nobody records it. */
  readonly trace: RequestTrace | null;
}

/** How long an answer is waited for whose caller has gone, where it has to be known what it used. */
const lingerMs = 10_000;
/** Nothing can have reached the provider. */
const neverSent = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);

export class ProviderCalls {
  readonly #options: ProviderCallsOptions;
  readonly #account: Account;
  /** Of the call that is not charged yet. */
  #open: {
    readonly admission: Admission;
    readonly use: CacheUse;
    attempted: Attempted | null;
  } | null = null;
  /** What the answer that comes is kept under; null for none that is. */
  #keptUnder: string | null = null;
  #isSent = false;

  constructor(options: ProviderCallsOptions) {
    this.#options = options;
    this.#account = options.ledger.open();
  }

  /** @throws GatewayError where the leaf names no provider that can be called */
  targetOf(leaf: Leaf, exchange: Exchange): ResolvedTarget | Promise<ResolvedTarget> {
    return this.#options.targets.resolve(leaf, exchange, this.#options.config);
  }

  /**
   * `exchange` with what guardrails have made of its body.
   *
   * @throws GatewayError where the target cannot be called, or its limits do not let it be
   */
  async call(leaf: Leaf, exchange: Exchange): Promise<Attempted> {
    this.#closeOpen();
    const { config, policies, origins, caller, trace } = this.#options;
    const { answers, enforcesLimits } = this.#options;
    const resolved = this.targetOf(leaf, exchange);
    const target = resolved instanceof Promise ? await resolved : resolved;
    const limits = limitsOf(exchange, target, config, policies, enforcesLimits);
    const use = cacheUseOf(leaf.settings, target, exchange);
    const kept = answers.find(use, exchange.now);
    if (kept !== null) return this.#answerBefore(target, limits, kept);
    const asked = admit({ account: this.#account, target, limits, exchange });
    const admission = asked instanceof Promise ? await asked : asked;
    this.#open = { admission, use, attempted: null };
    const { retry, requestTimeoutMs: timeoutMs } = leaf.settings;
    const attempted = await attempt(admission.target, {
      ...{ origins, retry, timeoutMs, caller, trace },
      ...{ lingerMs: this.lingerMs, cacheStatus: statusOf(use) },
    });
    this.#open.attempted = attempted;
    this.#isSent ||= isSent(attempted);
    return attempted;
  }

  /** Uses no tokens and costs nothing, but is a request like others. */
  async #answerBefore(
    target: ResolvedTarget,
    limits: readonly Limit[],
    kept: KeptAnswer,
  ): Promise<Attempted> {
    const counted = limits.filter(({ type }) => type === 'requests');
    const { exchange } = this.#options;
    await admit({ account: this.#account, target, limits: counted, exchange });
    this.#isSent = true;
    return answeredBefore(target, kept);
  }

  /** All of the answer of the last call, to be given again where the config says so. */
  keep({ status, headers }: Call, body: Buffer): void {
    const { answers, exchange } = this.#options;
    if (this.#keptUnder !== null) {
      answers.keep(this.#keptUnder, { status, headers, body }, exchange.now);
    }
  }

  /** What is left of the limits of the last call. */
  left(): readonly LimitLeft[] {
    return this.#account.left();
  }

  /** 0 where nobody has to know what a call used. */
  get lingerMs(): number {
    return this.#open?.admission.isCounted === true ? lingerMs : 0;
  }

  /** Watches the answer of the last call, and charges it. */
  meter(): Meter {
    const { admission, use, attempted } = this.#open!;
    this.#open = null;
    // One that was cut short for a limit is no answer for others.
    const isAsAsked = admission.outputTokens >= admission.bound.outputTokens;
    this.#keptUnder = isAsAsked ? use.mark : null;
    const { call, status } = attempted!;
    return new Meter(admission, this.#account, {
      endpoint: attempted!.target.endpoint,
      isStream: call !== null && isEventStream(call.headers),
      status,
    });
  }

  /** To be called at the end, whatever it was: what was not charged is, or given back. */
  close(): void {
    this.#closeOpen();
    if (!this.#isSent) this.#account.uncount();
  }

  /** A call whose answer nobody gets: refused by the provider, or without an answer. */
  #closeOpen(): void {
    const open = this.#open;
    this.#open = null;
    if (open === null) return;
    const { admission, attempted } = open;
    const hasUsedNothing = attempted === null || !isSent(attempted) || isRefusal(attempted);
    // Where nobody can say what it did, all that it may have done counts.
    if (hasUsedNothing) this.#account.release();
    else this.#account.settle(usageOf(admission, grantedUsage(admission)));
  }
}

function statusOf({ mark, isRefresh }: CacheUse): CacheStatus {
  if (mark === null) return 'DISABLED';
  return isRefresh ? 'REFRESH' : 'MISS';
}

function isRefusal({ call, status }: Attempted): boolean {
  return call !== null && status >= 300;
}

function isSent({ error }: Attempted): boolean {
  if (error === null) return true;
  if (error.code === 'custom_host_refused') return false;
  const { code = '' } = (error.cause ?? {}) as NodeJS.ErrnoException;
  return !neverSent.has(code);
}
