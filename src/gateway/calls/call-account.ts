/** Reserves usage for the calls of one request and settles each call exactly once. */
import type { LimitLeft } from '../../ledger/account.ts';
import type { Account } from '../../ledger/ledger.ts';
import { type Limit, usageAtPrice } from '../../ledger/limit.ts';
import { cancelledStatus } from '../../model/logs/request-log.ts';
import { isEventStream } from '../../model/wire/media-type.ts';
import { CallCut } from '../../upstream/call.ts';
import type { Exchange } from '../callers/exchange.ts';
import { type Admission, admit, lostUsage } from '../metering/admit.ts';
import type { AdmittedBatch } from '../metering/batch-bound.ts';
import { Meter, type MeteredUsage } from '../metering/meter.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { ChargedCalls } from './charged-calls.ts';
import { hasNoUsage, type TargetOutcome } from './outcome.ts';

export class CallAccount {
  readonly #account: Account;
  /** Charged calls, for the log entry. */
  readonly charged = new ChargedCalls();
  /** The admission of the call that has not been settled yet. */
  #open: Admission | null = null;
  #outcome: TargetOutcome | null = null;
  /** Nothing settles a call that is admitted later. */
  #isClosed = false;
  /** Whether a provider may have received anything. */
  isSent = false;

  readonly #countsText: boolean;
  readonly #isFork: boolean;

  /** `countsText`: see the option of the meter; `isFork` for a concurrent call of a request that has an account. */
  constructor(account: Account, countsText: boolean, isFork = false) {
    this.#account = account;
    this.#countsText = countsText;
    this.#isFork = isFork;
  }

  /** The account of a concurrent call for the same request. */
  fork(): CallAccount {
    return new CallAccount(this.#account.fork(), this.#countsText, true);
  }

  /** @throws GatewayError when a limit rejects the call */
  admit(
    target: ResolvedTarget,
    limits: readonly Limit[],
    exchange: Exchange,
    batch: AdmittedBatch | null = null,
  ): Admission | Promise<Admission> {
    return admit({ account: this.#account, target, limits, exchange, batch });
  }

  /** Charges what a failed try may have used, in addition to what its retry will use. */
  async admitAgain(
    failed: TargetOutcome,
    target: ResolvedTarget,
    limits: readonly Limit[],
    exchange: Exchange,
    batch: AdmittedBatch | null,
  ): Promise<ResolvedTarget> {
    if (hasNoUsage(failed)) {
      this.isSent ||= failed.isSent;
      return failed.target;
    }
    this.setOutcome(failed);
    this.endCall();
    const admission = await this.admit(target, limits, exchange, batch);
    this.open(admission);
    return admission.target;
  }

  /**
   * The admitted call starts.
   *
   * @throws CallCut when the account was closed while the call waited for its admission
   */
  open(admission: Admission): void {
    if (this.#isClosed) {
      this.#account.release();
      throw new CallCut('another call has answered');
    }
    this.#open = admission;
    this.#outcome = null;
  }

  setOutcome(outcome: TargetOutcome): void {
    this.#outcome = outcome;
    this.isSent ||= outcome.isSent;
  }

  /** Whether the usage of the open call must be known. */
  get isCounted(): boolean {
    return this.#open?.isCounted === true;
  }

  /** Remaining units of the limits of the last call. */
  left(): readonly LimitLeft[] {
    return this.#account.left();
  }

  /** Whether no limit shortens the response of the open call. */
  get isUncut(): boolean {
    const open = this.#open!;
    return open.outputTokens >= open.bound.outputTokens;
  }

  /** Hands the open call over to the meter that reads and charges its response. */
  meter(): Meter {
    const admission = this.#open!;
    const outcome = this.#outcome!;
    this.#open = null;
    const isStream = outcome.kind === 'live' && isEventStream(outcome.call.headers);
    const meter = new Meter(admission, this.#account, {
      status: outcome.status,
      isStream,
      countsText: this.#countsText,
    });
    this.charged.addMeter(outcome, meter);
    return meter;
  }

  /** Settles a call that is given up because a concurrent one answered. */
  giveUp(outcome: TargetOutcome): void {
    this.setOutcome(outcome);
    this.endCall();
  }

  /** Settles the last call because another one may follow. */
  endCall(): void {
    this.#settleOpen();
    this.charged.endCall();
  }

  /** Closes the account because that of a concurrent call takes its place. */
  closeForOther(): void {
    this.#isClosed = true;
    this.endCall();
  }

  /** Settles or releases what is still reserved; called once at the end of every request. */
  close(): void {
    this.#isClosed = true;
    this.#settleOpen();
    const isCounted = this.isSent || this.charged.hasCheckCalls || this.#isFork;
    if (!isCounted) this.#account.uncount();
  }

  /** Settles a call whose response nobody receives: the provider refused it or did not respond. */
  #settleOpen(): void {
    const open = this.#open;
    const outcome = this.#outcome;
    this.#open = null;
    if (open === null) return;
    if (outcome === null || hasNoUsage(outcome)) {
      this.#account.release();
      return;
    }
    const isCutStream = outcome.status === cancelledStatus && open.target.params.stream === true;
    const charge = isCutStream ? chargeAborted : chargeLost;
    this.charged.addLost(outcome, charge(open, this.#account, this.#countsText));
  }
}

/** An answer of the gateway uses no tokens and costs nothing, but counts as a request. */
export async function countAnswer<T extends TargetOutcome>(
  account: CallAccount,
  limits: readonly Limit[],
  exchange: Exchange,
  outcome: T,
): Promise<T> {
  const requestLimits = limits.filter(({ type }) => type === 'requests');
  await account.admit(outcome.target, requestLimits, exchange);
  account.isSent = true;
  return outcome;
}

/** Charges a stream that was cut before its first byte like one that its caller aborts. */
function chargeAborted(open: Admission, account: Account, countsText: boolean): MeteredUsage {
  const meter = new Meter(open, account, { status: 200, isStream: true, countsText });
  return meter.finish({ kind: 'left', isRead: false });
}

/** The usage is unknown, so everything that the call may have used is charged. */
function chargeLost(open: Admission, account: Account): MeteredUsage {
  const usage = lostUsage(open);
  const used = usageAtPrice(open.bound.price, usage);
  account.settle(used);
  const { priceOrigin } = open;
  return { usage, costUnits: used.costUnits, isEstimated: true, model: null, priceOrigin };
}
