/** Knows how the answer of a provider is read whole and put in the format of the caller, with what it has cost. */

import type { GuardedAnswer } from '../guardrails/guarded-answer.ts';
import type { Metered } from '../metering/meter.ts';
import type { Caller } from '../transfer/caller.ts';
import { decodedAnswer } from '../transfer/content-encoding.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { gather } from '../transfer/gather.ts';
import { type Attempted, errorOf } from './attempt.ts';
import type { ProviderCalls } from './provider-calls.ts';

/** An answer that was read whole. */
export type ReadAnswer = Pick<GuardedAnswer, 'headers' | 'body' | 'metered' | 'cost'>;

/** An answer that nobody gets, although it is charged. */
export interface Unanswered {
  readonly error: GatewayError;
  readonly metered: Metered;
}

/** Of an attempt that has a call. */
export async function wholeAnswer(
  attempted: Attempted,
  {
    calls,
    caller,
    onBytes = null,
    outlivesCaller = false,
  }: {
    readonly calls: ProviderCalls;
    readonly caller: Caller;
    /** Sees what comes of a stream as it comes. */
    readonly onBytes?: ((bytes: Buffer) => void) | null;
    /** Whether it is read to its end for somebody else, too. */
    readonly outlivesCaller?: boolean;
  },
): Promise<ReadAnswer | Unanswered> {
  const call = attempted.call!;
  const { translator } = attempted.target;
  const { lingerMs } = calls;
  const meter = calls.meter();
  const events = translator === null ? meter.events : translator.events(meter.events);
  const { body: came, end } = await gather(call, { caller, lingerMs, events, onBytes });
  attempted.stopClock();
  const isRead = end.kind === 'left' && end.isRead && outlivesCaller;
  if (end.kind !== 'whole' && !isRead) {
    const error = errorOf(end.kind === 'broken' ? end.error : new Error('the caller has gone'));
    return { error, metered: meter.finish(end) };
  }
  const isStream = meter.events !== null;
  const cost = isStream ? null : meter.readWhole(came, call.headers);
  const metered = meter.finish(end);
  const isTold = isStream || translator === null;
  const body = isTold ? came : translated(() => translator.whole(call, came));
  if (body instanceof GatewayError) return { error: body, metered };
  if (!isStream) calls.keep(call, body);
  const told = { 'content-type': 'application/json', 'content-encoding': undefined };
  const answer = isTold
    ? decodedAnswer(call.headers, body)
    : { headers: { ...call.headers, ...told }, body };
  return { ...answer, metered, cost };
}

/** A target whose answer nobody gets. */
export function unanswered(attempted: Attempted, { error, metered }: Unanswered): Attempted {
  return { ...attempted, call: null, error, status: error.status, metered };
}

function translated(translate: () => Buffer): Buffer | GatewayError {
  try {
    return translate();
  } catch (thrown) {
    return errorOf(thrown);
  }
}
