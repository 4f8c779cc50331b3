/** Admits requests under limits that all replicas share, and counts what they use. */
import type { Clock } from '../clock.ts';
import type { Database } from '../store/connection/db.ts';
import { CountedSlices, type Grant, type LimitLeft, Reservations } from './account.ts';
import { AdmissionQueue } from './admission-queue.ts';
import { DatabaseBank } from './database-bank.ts';
import { type JournalStream, UsageJournal } from './journal/usage-journal.ts';
import { type Limit, LimitsUnknown, type Usage, type UsageBound } from './limit.ts';
import type { LimitBank } from './limit-bank.ts';

/** The account of one request, from its first target to its last byte. */
export interface Account {
  /**
   * Called before each target. Synchronous when the slices suffice.
   *
   * @throws LimitReached, PriceUnknown, LimitsUnknown
   */
  admit(limits: readonly Limit[], bound: UsageBound): Grant | Promise<Grant>;
  /** Limits that reserve tokens or cost for the current target. */
  charged(): readonly Limit[];
  /** Charges the usage of the current target. */
  settle(usage: Usage): void;
  /** Releases the reservation of the current target without a charge. */
  release(): void;
  /** Uncounts the request because nothing was sent to any target. */
  uncount(): void;
  /** Remaining units of the limits of the last target, as far as known. */
  left(): readonly LimitLeft[];
  /** Opens the account of a concurrent call for the same request, which is counted once for both. */
  fork(): Account;
}

/**
 * Admits within slices that this process holds, without a statement for each request (docs/explanation/limits.md,
 * Slices). A request that lacks units waits up to a second, or longer for late processes, while others return idle
 * units. Then it takes less output, if possible, or is rejected.
 */
export interface Ledger extends AsyncDisposable {
  open(): Account;
  /** Resolves when the charges so far have reached the counters of an organisation, or reporting failed. */
  report(organisationId: string): Promise<void>;
  /** Processes with slices in an organisation, as far as known; null before the first exchange. */
  holders(organisationId: string): number | null;
  /** Charges usage that processes which died had on disk. Rejects when that is not possible now; it is tried again. */
  settleLeft(): Promise<void>;
}

const waitMsDefault = 1_000;
const lateMsDefault = 4_000;

export function createLedger(deps: {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly clock: Clock;
  /** Source of units; the database by default. */
  readonly bank?: LimitBank;
  /** Stream of the spool for usage; null without a folder for it. */
  readonly journal?: JournalStream | null;
  /** Processes that shared limits when the database was last seen, for one that has not seen it; unknown by default. */
  readonly gatewaysSeen?: () => number | null;
  /** How long a request waits for units of other processes; default one second. */
  readonly waitMs?: number;
  /** Additional wait for processes that have not reported; default 4 seconds. */
  readonly lateMs?: number;
}): Ledger {
  const { database, clock, waitMs = waitMsDefault, lateMs = lateMsDefault } = deps;
  const now = () => clock.now();
  const bank = deps.bank ?? new DatabaseBank({ database, now });
  const { journal: stream = null, gatewaysSeen = () => null } = deps;
  const journal = stream === null ? null : new UsageJournal(stream, bank, now);
  const queue = new AdmissionQueue(bank, { now, waitMs, lateMs, journal, gatewaysSeen });
  return {
    open: () => new QueuedAccount(queue, new CountedSlices()),
    report: (organisationId) => queue.report(organisationId),
    holders: (organisationId) => queue.holders(organisationId),
    settleLeft: async () => journal?.settleLeft(),
    [Symbol.asyncDispose]: async () => {
      await queue.close();
      await journal?.close();
    },
  };
}

class QueuedAccount extends Reservations implements Account {
  readonly #queue: AdmissionQueue;
  readonly #requestCounts: CountedSlices;

  constructor(queue: AdmissionQueue, counts: CountedSlices) {
    super(counts);
    this.#queue = queue;
    this.#requestCounts = counts;
  }

  fork(): Account {
    return new QueuedAccount(this.#queue, this.#requestCounts);
  }

  admit(limits: readonly Limit[], bound: UsageBound): Grant | Promise<Grant> {
    if (limits.length === 0) return bound;
    const grant = this.#queue.admit(this, limits, bound);
    return grant instanceof Promise
      ? grant.then((granted) => this.#secured(granted, limits))
      : this.#secured(grant, limits);
  }

  /** Waits until the journal allows for what was reserved, which it usually does before. */
  #secured(grant: Grant, [limit]: readonly Limit[]): Grant | Promise<Grant> {
    const slices = this.beyondPromise();
    if (slices === null) return grant;
    return this.#queue.raise(limit!.organisationId, slices).then(
      () => grant,
      (error) => {
        this.release();
        this.uncount();
        throw new LimitsUnknown(error);
      },
    );
  }
}
