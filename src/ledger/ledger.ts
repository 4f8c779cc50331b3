/** Knows how requests are admitted under limits that all replicas share, and how what they used is counted. */
import type { Clock } from '../clock.ts';
import type { Database } from '../store/connection/db.ts';
import { type Grant, type LimitLeft, Reservations } from './account.ts';
import { AdmissionQueue } from './admission-queue.ts';
import type { Limit, Usage, UsageBound } from './limit.ts';

/** One request, from its first target to its last byte. */
export interface Account {
  /**
   * Asked before each target that is tried. Yields at once where slices suffice.
   *
   * @throws LimitReached, PriceUnknown, LimitsUnknown
   */
  admit(limits: readonly Limit[], bound: UsageBound): Grant | Promise<Grant>;
  /** Those by whose tokens or cost the target is charged, until it is. */
  charged(): readonly Limit[];
  /** What the target has used, at once or after its last byte. */
  settle(usage: Usage): void;
  /** Nothing was used of what was admitted last. */
  release(): void;
  /** Nothing was sent to any target: the request does not count. */
  uncount(): void;
  /** What is left of the limits of the target that was asked for last; of some it may not be known yet. */
  left(): readonly LimitLeft[];
}

/**
 * Admits within slices that this process holds, without a statement for each request (docs/explanation/limits.md,
 * Slices). A request that lacks something waits while its process asks the database and others give back
 * what lies idle with them, for a second, or longer where they are late; then it takes less, where it can, or
 * is refused.
 */
export interface Ledger extends AsyncDisposable {
  open(): Account;
  /** Resolves when the counters of an organisation know what was charged by now, as far as they can be told. */
  report(organisationId: string): Promise<void>;
}

const waitMsDefault = 1_000;
const lateMsDefault = 4_000;

export function createLedger(deps: {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly clock: Clock;
  /** How long a request waits for what others hold; a second when absent. */
  readonly waitMs?: number;
  /** How much longer for those who do not say that nothing lies idle with them; 4 seconds when absent. */
  readonly lateMs?: number;
}): Ledger {
  const { database, clock, waitMs = waitMsDefault, lateMs = lateMsDefault } = deps;
  const queue = new AdmissionQueue(database, { now: () => clock.now(), waitMs, lateMs });
  return {
    open: () => new QueuedAccount(queue),
    report: (organisationId) => queue.report(organisationId),
    [Symbol.asyncDispose]: () => queue.close(),
  };
}

class QueuedAccount extends Reservations implements Account {
  readonly #queue: AdmissionQueue;

  constructor(queue: AdmissionQueue) {
    super();
    this.#queue = queue;
  }

  admit(limits: readonly Limit[], bound: UsageBound): Grant | Promise<Grant> {
    return limits.length === 0 ? bound : this.#queue.admit(this, limits, bound);
  }
}
