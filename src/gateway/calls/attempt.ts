/** Knows how one target is called: again where its answer and the config say so, and no longer than they allow. */
import type { RetryRule } from '../../model/config-tree.ts';
import type { GuardrailVerdict } from '../../model/request-log.ts';
import { Call, CallCut } from '../../upstream/call.ts';
import { AddressRefused } from '../../upstream/guarded-connect.ts';
import type { Origins } from '../../upstream/origins.ts';
import type { GuardedAnswer } from '../guardrails/guarded-answer.ts';
import type { RequestTrace } from '../logs/request-trace.ts';
import type { Metered } from '../metering/meter.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import type { Caller } from '../transfer/caller.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { linger } from '../transfer/linger.ts';
import { untilAllIsRead } from '../transfer/turn.ts';
import type { CacheStatus, KeptAnswer } from './answer-cache.ts';
import { retryAfterMs } from './retry-after.ts';

/** What came of a target: an answer that has begun, or none. */
export interface Attempted {
  readonly target: ResolvedTarget;
  /** The last call; null where none got an answer. */
  readonly call: Call | null;
  /** An answer that was given before, in place of a call; else null. */
  readonly kept: KeptAnswer | null;
  readonly cacheStatus: CacheStatus;
  /** In place of a call, what guardrails have made of its answer; absent where none judged. */
  readonly guarded?: GuardedAnswer;
  /** How an answer is passed on whose request guardrails have judged. */
  readonly passedOn?: { readonly status: number; readonly trailer: Buffer | null };
  /** Of the guardrails that judged; absent where none did. */
  readonly verdict?: GuardrailVerdict | null;
  /** Of an answer that broke off before anything of it was sent. */
  readonly metered?: Metered;
  /** Why there is no answer; null where there is one. */
  readonly error: GatewayError | null;
  /** Whether anything of the last call may have come to the provider. */
  readonly isSent: boolean;
  /** Of the answer, or what stands for it. */
  readonly status: number;
  /** How often it was tried again; -1 when all tries were used up. */
  readonly retries: number;
  /** Whether a try before the last may have done something of which nobody has heard. */
  readonly hasLostTries?: boolean;
  /** Ends the time that the request may take; to be called when it no longer matters. */
  stopClock(): void;
}

export interface AttemptOptions {
  readonly origins: Origins;
  readonly retry: RetryRule | null;
  /**
   * Asked before a target is tried again: what this try has used is used, and yields how the next one goes.
   * Throws where that is not let through.
   */
  readonly admitAgain: (tried: Attempted) => ResolvedTarget | Promise<ResolvedTarget>;
  readonly timeoutMs: number | null;
  readonly caller: Caller;
  /** How long the answer is waited for when the caller has gone; 0 for not at all. */
  readonly lingerMs: number;
  readonly cacheStatus: CacheStatus;
  /** Null where nobody records it. */
  readonly trace: RequestTrace | null;
}

/** All waits between tries together. */
const waitMsMax = 60_000;
const firstWaitMs = 1_000;
const noClock = (): void => {};

/** In place of a call. */
export function answeredBefore(target: ResolvedTarget, kept: KeptAnswer): Attempted {
  return {
    ...{ target, kept, call: null, error: null, status: kept.status, retries: 0 },
    ...{ cacheStatus: 'HIT', isSent: false, stopClock: noClock },
  };
}

/** @throws GatewayError where the target may not be tried again */
export function attempt(target: ResolvedTarget, options: AttemptOptions): Promise<Attempted> {
  const { retry } = options;
  return retry === null ? callOnce(target, options, 0) : attemptAgain(target, retry, options);
}

async function attemptAgain(
  first: ResolvedTarget,
  retry: RetryRule,
  options: AttemptOptions,
): Promise<Attempted> {
  const { caller } = options;
  let target = first;
  let waitedMs = 0;
  let hasLostTries = false;
  for (let tries = 0; ; tries += 1) {
    const tried = await callOnce(target, options, tries);
    const attempted = hasLostTries ? { ...tried, hasLostTries } : tried;
    if (caller.isGone || isSpent(attempted)) return attempted;
    if (!retry.statusCodes.has(attempted.status)) return attempted;
    if (tries >= retry.attempts)
      return retry.attempts === 0 ? attempted : { ...attempted, retries: -1 };
    const waitMs = waitOf(retry, attempted, tries);
    if (waitedMs + waitMs > waitMsMax) return { ...attempted, retries: -1 };
    waitedMs += waitMs;
    letGo(attempted);
    hasLostTries ||= mayHaveDone(attempted);
    await caller.wait(waitMs);
    if (caller.isGone) return attempted;
    target = await options.admitAgain(attempted);
  }
}

/** Whether what was sent cannot be sent again. */
export function isSpent({ target }: Attempted): boolean {
  return target.call.passed?.isTaken === true;
}

/** Whether the provider may have done what it was asked, though it has not said so. */
export function mayHaveDone({ target, call, status, isSent }: Attempted): boolean {
  if (!isSent || target.call.passed?.isWhole === false) return false;
  return call === null || status >= 500 || status === 408;
}

/** Nobody reads the answer: its connection ends with it. */
export function letGo({ call, stopClock }: Attempted): void {
  stopClock();
  call?.pipe({ data: () => true, end: () => undefined, fail: () => undefined });
  call?.cut(new CallCut('the answer is not needed'));
}

async function callOnce(
  target: ResolvedTarget,
  { origins, timeoutMs, caller, lingerMs, cacheStatus, trace }: AttemptOptions,
  retries: number,
): Promise<Attempted> {
  const call = begin(target, origins, trace);
  let lingering: NodeJS.Timeout | null = null;
  caller.onLeave(() => {
    lingering = linger(call, lingerMs);
  });
  const stopClock = timeoutMs === null ? noClock : startClock(call, timeoutMs);
  try {
    await call.begun;
    await untilAllIsRead();
    const { status } = call;
    return {
      target,
      call,
      kept: null,
      cacheStatus,
      error: null,
      isSent: true,
      status,
      retries,
      stopClock,
    };
  } catch (thrown) {
    stopClock();
    const error = errorOf(thrown);
    const { isSent } = call;
    const { status } = error;
    return {
      target,
      call: null,
      kept: null,
      cacheStatus,
      error,
      isSent,
      status,
      retries,
      stopClock: noClock,
    };
  } finally {
    if (lingering !== null) clearTimeout(lingering);
  }
}

function begin(target: ResolvedTarget, origins: Origins, trace: RequestTrace | null): Call {
  const dispatcher = origins.at(target.call.origin);
  if (trace === null) return new Call(dispatcher, target.call);
  const span = trace.begin(target);
  return new Call(dispatcher, trace.sentBy(span, target.call), (status, error) =>
    span.end(status, error && errorTypeOf(error)),
  );
}

function errorTypeOf(error: Error): string {
  return error instanceof CallCut ? 'cancelled' : errorOf(error).code;
}

function startClock(call: Call, timeoutMs: number): () => void {
  const timer = setTimeout(() => call.cut(timeoutError(timeoutMs)), timeoutMs);
  return () => clearTimeout(timer);
}

function timeoutError(timeoutMs: number): GatewayError {
  return new GatewayError('request_timeout', `The provider took longer than ${timeoutMs} ms`);
}

/** What is told of a call without an answer; of texts of the network none, as they may hold what was sent. */
export function errorOf(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const cause = { cause: thrown };
  if (thrown instanceof AddressRefused) {
    return new GatewayError(
      'custom_host_refused',
      `The host ${thrown.message}`,
      'custom_host',
      cause,
    );
  }
  const { code = 'no answer' } = thrown as NodeJS.ErrnoException;
  const message = `The provider cannot be reached (${code})`;
  return new GatewayError('upstream_unreachable', message, null, cause);
}

function waitOf(retry: RetryRule, { call }: Attempted, tries: number): number {
  const asked =
    retry.heedsRetryAfter && call !== null ? retryAfterMs(call.headers, Date.now()) : null;
  return asked ?? firstWaitMs * 2 ** tries;
}
