/** Defines what calling one target can lead to. */
import { cancelledStatus, type GuardrailVerdict } from '../../model/logs/request-log.ts';
import { isEventStream } from '../../model/wire/media-type.ts';
import type { Call } from '../../upstream/call.ts';
import type { GuardedResponse } from '../guardrails/guarded-response.ts';
import type { WindowedStream } from '../guardrails/windowed-stream.ts';
import type { MeteredUsage } from '../metering/meter.ts';
import type { TargetSelection } from '../strategies/select-target.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { CachedResponse, CacheStatus } from './response-cache.ts';

export type TargetOutcome = LiveOutcome | CachedOutcome | CompleteOutcome | FailedOutcome;

interface OutcomeBase {
  readonly target: ResolvedTarget;
  readonly cacheStatus: CacheStatus;
  /** Status that the caller receives. */
  readonly status: number;
  /** Number of retries; -1 when all retries were used up. */
  readonly retries: number;
  /** Whether the provider may have received any part of the last call. */
  readonly isSent: boolean;
  /** Whether an earlier try may have had an effect that no response reported. */
  readonly hasLostTries: boolean;
  /** Null when no guardrail judged. */
  readonly verdict: GuardrailVerdict | null;
  /** Whether a second request was sent beside this one; the target that was selected has been judged by itself. */
  readonly isHedged?: boolean | undefined;
  /** Why a strategy selected the target; absent when none did. */
  readonly selection?: TargetSelection | undefined;
  /** Time until the response of the last call began; absent when none did. */
  readonly responseMs?: number | undefined;
}

/** Receives the events that the caller received; null for a stream that is too long. */
export type StreamObserver = (events: Buffer | null) => Promise<void>;

/** The provider has started to respond; the body has not been read. */
export interface LiveOutcome extends OutcomeBase {
  readonly kind: 'live';
  readonly call: Call;
  /** Guardrail results that follow the last event of a stream; null for none. */
  readonly trailer: Buffer | null;
  /** Judges a copy of the stream after its end; null for none. */
  readonly observer: StreamObserver | null;
  /** Judges the stream while it is sent; null for none. */
  readonly windowed: WindowedStream | null;
  /** Stops the request timeout; called when the timeout no longer matters. */
  stopClock(): void;
}

/** The response cache answered; the provider was not called. */
export interface CachedOutcome extends OutcomeBase {
  readonly kind: 'cached';
  readonly response: CachedResponse;
}

/** The complete response is in memory: judged by guardrails, or made by the gateway itself. */
export interface CompleteOutcome extends OutcomeBase {
  readonly kind: 'judged' | 'local';
  readonly response: GuardedResponse;
}

/** There is no response for the caller. */
export interface FailedOutcome extends OutcomeBase {
  readonly kind: 'failed';
  readonly error: GatewayError;
  /** Usage of a response that broke off before any of it was sent; null when there was none. */
  readonly metered: MeteredUsage | null;
}

/** The fields that are the same for every target that was not called. */
const notCalled = {
  cacheStatus: 'DISABLED',
  retries: 0,
  isSent: false,
  hasLostTries: false,
  verdict: null,
} as const;

export function cachedOutcome(
  target: ResolvedTarget,
  response: CachedResponse,
  cacheStatus: 'HIT' | 'SEMANTIC HIT',
): CachedOutcome {
  const { status } = response;
  return { ...notCalled, kind: 'cached', target, cacheStatus, status, response };
}

/** The outcome of a target that was not called because the gateway responds in its place. */
export function localOutcome(target: ResolvedTarget, response: GuardedResponse): CompleteOutcome {
  return { ...notCalled, kind: 'local', target, status: response.status, response };
}

/** The outcome of a request that a guardrail denied before the target was called. */
export function deniedOutcome(target: ResolvedTarget, response: GuardedResponse): CompleteOutcome {
  const { status } = response;
  return { ...notCalled, kind: 'judged', target, status, verdict: 'denied', response };
}

/** Replaces the response of `outcome`, which guardrails have judged. */
export function judgedOutcome(
  outcome: TargetOutcome,
  response: GuardedResponse,
  verdict: GuardrailVerdict | null,
): CompleteOutcome {
  const { target, cacheStatus, retries, isSent, hasLostTries, responseMs } = outcome;
  const { isHedged, selection } = outcome;
  const { status } = response;
  const kind = 'judged';
  return {
    kind,
    target,
    cacheStatus,
    status,
    retries,
    isSent,
    hasLostTries,
    verdict,
    isHedged,
    selection,
    responseMs,
    response,
  };
}

/** Turns `outcome` into a failure: its response is charged but does not reach the caller. */
export function failedOutcome(
  outcome: TargetOutcome,
  error: GatewayError,
  metered: MeteredUsage,
): FailedOutcome {
  const { target, cacheStatus, retries, isSent, hasLostTries, verdict } = outcome;
  const { isHedged, selection } = outcome;
  const { status } = error;
  return {
    kind: 'failed',
    target,
    cacheStatus,
    status,
    retries,
    isSent,
    hasLostTries,
    verdict,
    isHedged,
    selection,
    error,
    metered,
  };
}

/** The outcome of a call that was given up because a concurrent one answered. */
export function cancelledOutcome(outcome: TargetOutcome): FailedOutcome {
  const { target, cacheStatus, retries, isSent, hasLostTries } = outcome;
  return {
    kind: 'failed',
    target,
    cacheStatus,
    status: cancelledStatus,
    retries,
    isSent,
    hasLostTries,
    verdict: null,
    error: new GatewayError('upstream_unreachable', 'Another call has answered'),
    metered: null,
  };
}

/** Whether the response is a stream of events, sent as it arrives or from a cache. */
export function isStreamed(outcome: TargetOutcome): boolean {
  if (outcome.kind === 'live') return isEventStream(outcome.call.headers);
  return (
    outcome.kind === 'cached' && isEventStream({ 'content-type': outcome.response.contentType })
  );
}

/** Whether the request body was streamed to the provider and so cannot be sent again. */
export function isBodyConsumed({ target }: TargetOutcome): boolean {
  return target.call.streamed?.isStarted === true;
}

/** Whether the provider may have carried out the request although it has not confirmed it. */
export function mayHaveTakenEffect({ kind, target, status, isSent }: TargetOutcome): boolean {
  if (!isSent || target.call.streamed?.isWhole === false) return false;
  return kind === 'failed' || status >= 500 || status === 408;
}

/** Whether the provider received nothing, or refused the request. */
export function hasNoUsage({ kind, status, isSent }: TargetOutcome): boolean {
  return !isSent || (kind === 'live' && status >= 300);
}
