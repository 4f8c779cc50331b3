/** Calls one target, retries it as the config permits, and stops at the request timeout. */
import type { RetryRule } from '../../model/configs/config-tree.ts';
import { monotonicMs } from '../../monotonic.ts';
import { Call, CallCut, type Sink } from '../../upstream/call.ts';
import { AddressRefused } from '../../upstream/guarded-connect.ts';
import type { Origins } from '../../upstream/origins.ts';
import type { TokenSource } from '../logins/client-tokens.ts';
import type { RequestTrace } from '../logs/request-trace.ts';
import type { CallSigner } from '../signing/call-signer.ts';
import { withToken } from '../targets/authorized-call.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import type { Caller } from '../transfer/caller.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { linger } from '../transfer/linger.ts';
import { waitForTurn } from '../transfer/turn-batches.ts';
import {
  type FailedOutcome,
  isBodyConsumed,
  type LiveOutcome,
  mayHaveTakenEffect,
  type TargetOutcome,
} from './outcome.ts';
import type { CacheStatus } from './response-cache.ts';
import { retryAfterMs } from './retry-after.ts';

/** Result of calling a provider. */
export type CallOutcome = LiveOutcome | FailedOutcome;

export interface AttemptOptions {
  readonly origins: Origins;
  readonly retry: RetryRule | null;
  /**
   * Charges a failed try and admits the next one; returns the target to call.
   *
   * @throws GatewayError when the limits reject the retry
   */
  readonly admitAgain: (outcome: CallOutcome) => ResolvedTarget | Promise<ResolvedTarget>;
  readonly timeoutMs: number | null;
  readonly caller: Caller;
  /** How long the response is read after the caller has gone; 0 cuts it at once. */
  readonly lingerMs: number;
  readonly cacheStatus: CacheStatus;
  /** Null when the request is not traced. */
  readonly trace: RequestTrace | null;
}

/** Bound of all waits between tries together. */
const waitMsMax = 60_000;
const firstWaitMs = 1_000;
const noClock = (): void => {};

/** @throws GatewayError when the limits do not admit a retry */
export function attempt(target: ResolvedTarget, options: AttemptOptions): Promise<CallOutcome> {
  const { retry } = options;
  return retry === null ? callOnce(target, options, 0) : attemptAgain(target, retry, options);
}

async function attemptAgain(
  first: ResolvedTarget,
  retry: RetryRule,
  options: AttemptOptions,
): Promise<CallOutcome> {
  const { caller } = options;
  let target = first;
  let waitedMs = 0;
  let hasLostTries = false;
  for (let tries = 0; ; tries += 1) {
    const last = await callOnce(target, options, tries);
    const outcome = hasLostTries ? { ...last, hasLostTries } : last;
    if (caller.isGone || isBodyConsumed(outcome)) return outcome;
    if (!retry.statusCodes.has(outcome.status)) return outcome;
    if (tries >= retry.attempts) return retry.attempts === 0 ? outcome : usedUp(outcome);
    const waitMs = waitOf(retry, outcome, tries);
    if (waitedMs + waitMs > waitMsMax) return usedUp(outcome);
    waitedMs += waitMs;
    discardResponse(outcome);
    hasLostTries ||= mayHaveTakenEffect(outcome);
    await caller.wait(waitMs);
    if (caller.isGone) return outcome;
    target = await options.admitAgain(outcome);
  }
}

function usedUp(outcome: CallOutcome): CallOutcome {
  return { ...outcome, retries: -1 };
}

/** Drops a response that nobody reads, which closes its connection. */
export function discardResponse(outcome: TargetOutcome): void {
  if (outcome.kind !== 'live') return;
  const { call } = outcome;
  outcome.stopClock();
  call.pipe(discardingSink);
  call.cut(new CallCut('the answer is not needed'));
}

const discardingSink: Sink = {
  data: () => true,
  end: () => undefined,
  fail: () => undefined,
};

function callOnce(
  target: ResolvedTarget,
  options: AttemptOptions,
  retries: number,
): Promise<CallOutcome> {
  const { tokens, signer } = target;
  if (signer !== null) return sendSigned(target, signer, options, retries);
  return tokens === null
    ? send(target, options, retries)
    : sendWithToken(target, tokens, options, retries);
}

/** Sends a refused request once more with another token; the provider has not carried it out. */
async function sendWithToken(
  target: ResolvedTarget,
  tokens: TokenSource,
  options: AttemptOptions,
  retries: number,
): Promise<CallOutcome> {
  try {
    const token = await inTime(tokens.token(null), target, options);
    const outcome = await send(withToken(target, token), options, retries);
    if (outcome.kind !== 'live' || outcome.status !== 401) return outcome;
    if (options.caller.isGone || isBodyConsumed(outcome)) return outcome;
    discardResponse(outcome);
    const other = await inTime(tokens.token(token), target, options);
    return await send(withToken(target, other), options, retries);
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    const { cacheStatus } = options;
    return failedAttempt({ target, cacheStatus, retries, isSent: false, error: thrown });
  }
}

/** Sends a request whose signature is refused once more with renewed credentials. */
async function sendSigned(
  target: ResolvedTarget,
  signer: CallSigner,
  options: AttemptOptions,
  retries: number,
): Promise<CallOutcome> {
  const { cacheStatus, caller } = options;
  const signed = async (): Promise<ResolvedTarget> => {
    const call = await inTime(signer.sign(target.call), target, options);
    return { ...target, call };
  };
  try {
    let outcome = await send(await signed(), options, retries);
    if (outcome.kind === 'live' && !caller.isGone && signer.renew(outcome.call)) {
      discardResponse(outcome);
      outcome = await send(await signed(), options, retries);
    }
    const fault = outcome.kind === 'live' ? signer.faultOf(outcome.call) : null;
    if (fault === null) return outcome;
    discardResponse(outcome);
    return failedAttempt({ target, cacheStatus, retries, isSent: true, error: fault });
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    return failedAttempt({ target, cacheStatus, retries, isSent: false, error: thrown });
  }
}

/** @throws GatewayError when there is no credential within the request timeout */
async function inTime<T>(
  token: T | Promise<T>,
  target: CalledProvider,
  { timeoutMs }: AttemptOptions,
): Promise<T> {
  if (timeoutMs === null || !(token instanceof Promise)) return token;
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(timeoutError(target, timeoutMs)), timeoutMs);
  try {
    return await Promise.race([token, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

async function send(
  target: ResolvedTarget,
  options: AttemptOptions,
  retries: number,
): Promise<CallOutcome> {
  const { timeoutMs, caller, lingerMs, cacheStatus } = options;
  const beganMs = monotonicMs();
  const call = begin(target, options.origins, options.trace);
  let lingering: NodeJS.Timeout | null = null;
  caller.onLeave(() => {
    lingering = linger(call, lingerMs);
  });
  const stopClock = timeoutMs === null ? noClock : startClock(call, target, timeoutMs);
  try {
    await call.responseStarted;
    await waitForTurn();
    return {
      kind: 'live',
      target,
      cacheStatus,
      status: call.status,
      retries,
      isSent: true,
      hasLostTries: false,
      verdict: null,
      responseMs: monotonicMs() - beganMs,
      call,
      trailer: null,
      observer: null,
      windowed: null,
      stopClock,
    };
  } catch (thrown) {
    stopClock();
    const error = errorOf(thrown, target);
    return failedAttempt({ target, cacheStatus, retries, isSent: call.isSent, error });
  } finally {
    if (lingering !== null) clearTimeout(lingering);
  }
}

function failedAttempt(
  failure: Pick<FailedOutcome, 'target' | 'cacheStatus' | 'retries' | 'isSent' | 'error'>,
): FailedOutcome {
  const { status } = failure.error;
  return { ...failure, kind: 'failed', status, hasLostTries: false, verdict: null, metered: null };
}

function begin(target: ResolvedTarget, origins: Origins, trace: RequestTrace | null): Call {
  const dispatcher = origins.at(target.call.origin);
  if (trace === null) return new Call(dispatcher, target.call);
  const span = trace.begin(target);
  return new Call(dispatcher, trace.withTraceHeaders(span, target.call), (status, error) =>
    span.end(status, error && errorTypeOf(error, target)),
  );
}

function errorTypeOf(error: Error, target: CalledProvider): string {
  return error instanceof CallCut ? 'cancelled' : errorOf(error, target).code;
}

function startClock(call: Call, target: CalledProvider, timeoutMs: number): () => void {
  const timer = setTimeout(() => call.cut(timeoutError(target, timeoutMs)), timeoutMs);
  return () => clearTimeout(timer);
}

function timeoutError(target: CalledProvider, timeoutMs: number): GatewayError {
  const message = `${providerText(target)} took longer than ${timeoutMs} ms`;
  return new GatewayError('request_timeout', message);
}

/** The provider of a call, for messages. */
type CalledProvider = Pick<ResolvedTarget, 'provider'> & {
  readonly call: Pick<ResolvedTarget['call'], 'origin'>;
};

/** `The provider @team-openai at api.openai.com` */
function providerText({ provider, call }: CalledProvider): string {
  return `The provider ${provider} at ${new URL(call.origin).host}`;
}

/** Describes a failed call. Network error texts are dropped because they may contain what was sent. */
export function errorOf(thrown: unknown, target: CalledProvider): GatewayError {
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
  const message = `${providerText(target)} cannot be reached (${code})`;
  return new GatewayError('upstream_unreachable', message, null, cause);
}

function waitOf(retry: RetryRule, outcome: CallOutcome, tries: number): number {
  const requestedMs =
    retry.usesRetryAfter && outcome.kind === 'live'
      ? retryAfterMs(outcome.call.headers, Date.now())
      : null;
  return requestedMs ?? firstWaitMs * 2 ** tries;
}
