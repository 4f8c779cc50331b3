/** Reads a provider's response completely, translates it to the caller's format and meters it. */
import type { GuardedResponse } from '../guardrails/guarded-response.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import type { Caller } from '../transfer/caller.ts';
import { decodeResponse } from '../transfer/content-encoding.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { readWhole } from '../transfer/gather.ts';
import { errorOf } from './attempt.ts';
import { type FailedOutcome, failedOutcome, type LiveOutcome } from './outcome.ts';
import type { ProviderCalls } from './provider-calls.ts';

/** A response that was read completely. */
export type ReadResponse = Pick<GuardedResponse, 'headers' | 'body' | 'metered' | 'cost'>;

interface ReadOptions {
  readonly calls: ProviderCalls;
  readonly caller: Caller;
  /** Receives the bytes of a stream as they arrive; null for none. */
  readonly onBytes: ((bytes: Buffer) => void) | null;
  /** Whether the response is read to its end even if the caller goes. */
  readonly outlivesCaller: boolean;
}

/** Returns the failed outcome when the response breaks off or cannot be translated; it is charged anyway. */
export async function readWholeResponse(
  outcome: LiveOutcome,
  { calls, caller, onBytes, outlivesCaller }: ReadOptions,
): Promise<ReadResponse | FailedOutcome> {
  const { call } = outcome;
  const { translator } = outcome.target;
  const { lingerMs } = calls;
  const meter = calls.meter();
  const events =
    translator === null ? meter.events : translator.events(meter.events, meter.likelyInputTokens);
  const { body: received, end } = await readWhole(call, {
    caller,
    lingerMs,
    events,
    onBytes: onBytes,
  });
  outcome.stopClock();
  const isRead = end.kind === 'left' && end.isRead && outlivesCaller;
  if (end.kind !== 'whole' && !isRead) {
    const error = errorOf(
      end.kind === 'broken' ? end.error : new Error('the caller disconnected'),
      outcome.target,
    );
    return failedOutcome(outcome, error, meter.finish(end));
  }
  const isStream = meter.events !== null;
  const cost = isStream ? null : meter.readWhole(received, call.headers);
  const metered = meter.finish(end);
  if (isStream || translator === null) {
    if (!isStream || calls.storing.storesStreams) calls.storing.add(call, received);
    const { headers, body } = decodeResponse(call.headers, received);
    return { headers, body, metered, cost };
  }
  const body = translated(outcome.target, () => translator.whole(call, received));
  if (body instanceof GatewayError) return failedOutcome(outcome, body, metered);
  calls.storing.add(call, body);
  const headers = {
    ...call.headers,
    'content-type': 'application/json',
    'content-encoding': undefined,
  };
  return { headers, body, metered, cost };
}

export function isFailure(read: ReadResponse | FailedOutcome): read is FailedOutcome {
  return 'kind' in read;
}

function translated(target: ResolvedTarget, translate: () => Buffer): Buffer | GatewayError {
  try {
    return translate();
  } catch (thrown) {
    return errorOf(thrown, target);
  }
}
