/** Keeps what is known about one response of a live session: its reservation, its cause and its usage. */
import { nothingJudged } from '../../../guardrails/check-records.ts';
import type { Ledger } from '../../../ledger/ledger.ts';
import type { TokenUsage } from '../../../model/pricing/pricing.ts';
import { monotonicMs } from '../../../monotonic.ts';
import { noTokens } from '../../metering/admit.ts';
import type { MeteredUsage } from '../../metering/meter.ts';
import type { GatewayError } from '../../transfer/gateway-error.ts';
import { admitResponse, type ResponseAccount } from '../response-account.ts';
import type { LoggedResponse } from '../session-log.ts';
import type { SessionPorts } from '../session-ports.ts';

/** Verdict on a response, for its log entry. */
export type TurnVerdict = Pick<LoggedResponse, 'verdict' | 'judged' | 'status'>;

/** How responses of a session are reserved. */
export interface TurnTerms {
  readonly ledger: Ledger;
  /** Whether a limit may refuse responses. */
  readonly isGoverned: boolean;
  /** The bound of the output of each response, which the provider has received with the setup. */
  readonly outputTokens: number;
  /** Whether a response without reported usage is charged by what arrived of it. */
  readonly countsUnreported: boolean;
}

export const unjudged: TurnVerdict = { verdict: null, judged: nothingJudged, status: 200 };

/**
 * How input may start a response: `input` ends a turn; `results` are those of calls, which may continue the response
 * that made them; `sound` may contain the end of a turn.
 */
export type TurnCause = 'input' | 'results' | 'sound';

/** A response that may start, is running, or waits for its usage. */
export interface Turn {
  readonly account: ResponseAccount;
  readonly startedAt: number;
  /** When the first input for it was sent; monotonic clock, milliseconds. */
  beganMs: number;
  firstEventMs: number | null;
  /** The part of the conversation that it reads. */
  mark: number;
  /** Null while nothing was sent that may start it. */
  cause: TurnCause | null;
  reported: TokenUsage | null;
  /** Output that has arrived, in tokens. */
  arrivedTokens: number;
  hasCalls: boolean;
  /** Set when the response has ended. */
  verdict: TurnVerdict;
}

/** Whether what was sent starts the response. */
export function isCertain(turn: Turn | null): boolean {
  return turn?.cause === 'input' || turn?.cause === 'results';
}

/** Whether a provider that has sent nothing of the response must be taken to have begun it. */
export function mayHaveBegun(turn: Turn, { countsUnreported }: TurnTerms): boolean {
  return countsUnreported ? isCertain(turn) : turn.cause !== null;
}

export function turnOf(account: ResponseAccount, startedAt: number): Turn {
  return {
    account,
    startedAt,
    beganMs: monotonicMs(),
    firstEventMs: null,
    mark: 0,
    cause: null,
    reported: null,
    arrivedTokens: 0,
    hasCalls: false,
    verdict: unjudged,
  };
}

export function addedOutput({ usage, isEstimated }: MeteredUsage, { account }: Turn): number {
  return isEstimated ? account.outputTokens : usage.outputTokens;
}

/** @throws GatewayError when a limit refuses the response */
export async function reserveTurn(
  ports: SessionPorts,
  { ledger, outputTokens }: TurnTerms,
  inputTokens: number,
): Promise<Turn> {
  const { terms } = ports;
  const startedAt = ports.now();
  const limits = await terms.limitsAt(startedAt);
  const bound = { inputTokens, outputTokens, isWhole: true };
  const account = await admitResponse(ledger, terms.target, limits, bound, startedAt);
  return turnOf(account, startedAt);
}

/** Something was sent that may start the response. `marks`: the conversation at the end of the last response, and now. */
export function noteCause(
  turn: Turn,
  cause: TurnCause,
  marks: { readonly last: number; readonly now: number },
): void {
  if (turn.cause === null) {
    turn.beganMs = monotonicMs();
    turn.mark = marks.last;
  }
  // Nobody knows how much of the sound that was sent a response reads.
  if (cause !== 'sound') turn.mark = marks.now;
  if (turn.cause === null || cause === 'input') turn.cause = cause;
  else if (cause === 'results' && turn.cause === 'sound') turn.cause = cause;
}

/** Charges what arrived of a response, or everything that was reserved. */
export function settleUnreported(
  { account, arrivedTokens }: Turn,
  conversationTokens: number,
  { countsUnreported, isGoverned }: TurnTerms,
): MeteredUsage {
  if (!countsUnreported || !isGoverned) return account.settle(null);
  const outputTokens = Math.min(account.outputTokens, Math.ceil(arrivedTokens));
  const inputTokens = Math.min(account.inputTokens, conversationTokens);
  return account.settle({ ...noTokens, inputTokens, outputTokens }, false);
}

export function logTurn({ terms, log }: SessionPorts, turn: Turn, metered: MeteredUsage): void {
  const { beganMs, firstEventMs, startedAt, verdict } = turn;
  log.addResponse(terms, {
    beganMs,
    firstEventMs,
    startedAt,
    ...verdict,
    metered,
    errorCode: null,
  });
}

/** Logs a response that a limit refuses. */
export function logRefusedTurn(ports: SessionPorts, refused: GatewayError): void {
  const times = { beganMs: monotonicMs(), startedAt: ports.now() };
  ports.log.addRefused(ports.terms, refused, times);
}
