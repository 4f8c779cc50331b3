/** Knows the slices that this process holds of one organisation's counters, and settles them with the database. */
import { randomBytes } from 'node:crypto';
import { monotonicMs } from '../monotonic.ts';
import type { Database, Db } from '../store/connection/db.ts';
import { isOutcomeUnknown } from '../store/connection/unavailable.ts';
import { counterKeyText } from '../store/usage/counter-place.ts';
import * as holders from '../store/usage/usage-holders.ts';
import type { MoveOutcome, SliceMove } from '../store/usage/usage-slices.ts';
import * as slices from '../store/usage/usage-slices.ts';
import * as wantedSlices from '../store/usage/wanted-slices.ts';
import type { Limit } from './limit.ts';
import { type Lease, Slice } from './slice.ts';

/** How long a process may be away before what it holds is charged. */
const leaseMs = 30_000;
/** So much earlier a holder stops using what it holds. */
const leaseMarginMs = 5_000;
const renewMs = 8_000;
const movesMax = 200;
/** Who lacks something looks again before this is over. */
const wantedWithinMs = 2_000;

interface SliceExchange {
  readonly moves: ReadonlyMap<SliceMove, Slice>;
  readonly startedMs: number;
}

/** What the exchange would have yielded. */
interface DoubtfulExchange extends SliceExchange {
  readonly outcomes: readonly MoveOutcome[];
}

/**
 * Settles in exchanges, one at a time: each is a transaction that renews the lease of the holder, tells
 * what was used, gives back what lies idle and takes what is needed.
 *
 * An exchange whose answer was lost is looked up before the next one, by the sequence that it would have
 * written. A holder that could not renew its lease in time uses nothing of what it held any more: all of
 * it was charged, or will be, by the job charge-lost-slices.
 */
export class OrganisationSlices {
  readonly #database: Pick<Database, 'db' | 'transaction'>;
  readonly #now: () => number;
  readonly #organisationId: string;
  #holder: holders.Holder;
  readonly #slices = new Map<string, Slice>();
  /** The same by the limit that each was asked for last, which most requests of a window share. */
  readonly #byLimit = new Map<Limit, Slice>();
  /** Of the last exchange; 0 before the first and after a lease that was over. */
  #sequence = 0;
  readonly #lease: Lease = { endsMs: 0 };
  #renewedMs = 0;
  /** An exchange of which nobody knows whether it was carried out. */
  #inDoubt: DoubtfulExchange | null = null;

  constructor(
    database: Pick<Database, 'db' | 'transaction'>,
    organisationId: string,
    now: () => number,
  ) {
    this.#database = database;
    this.#now = now;
    this.#organisationId = organisationId;
    this.#holder = newHolder(organisationId);
  }

  slice(limit: Limit): Slice {
    const known = this.#byLimit.get(limit);
    if (known !== undefined) return known;
    const key = `${limit.subjectKind} ${limit.subjectId} ${limit.isRate} ${limit.windowStart} ${limit.valueKey}`;
    let slice = this.#slices.get(key);
    if (slice === undefined) {
      slice = new Slice(limit, this.#lease);
      this.#slices.set(key, slice);
    }
    this.#byLimit.delete(slice.limit);
    slice.setLimit(limit);
    this.#byLimit.set(limit, slice);
    return slice;
  }

  /** Whether nothing is held, and nothing is left to tell. */
  get isIdle(): boolean {
    return this.#slices.size === 0 && this.#inDoubt === null;
  }

  /**
   * One exchange, where there is anything to exchange; `isDue` tells what was used, too. `nowMs` by
   * the monotonic clock. Rejects when the database does not answer; everything is tried again then.
   */
  async exchange(nowMs: number, isDue: boolean): Promise<void> {
    if (this.#inDoubt !== null) await this.#resolve(this.#inDoubt);
    let moves = new Map<SliceMove, Slice>();
    for (const [key, slice] of this.#slices) {
      if (slice.isUnused(nowMs)) {
        this.#slices.delete(key);
        this.#byLimit.delete(slice.limit);
        continue;
      }
      const move = slice.beginMove(nowMs, isDue);
      if (move !== null) moves.set(move, slice);
      if (moves.size < movesMax) continue;
      await this.#carryOut({ moves, startedMs: monotonicMs() });
      moves = new Map();
    }
    const isHeld = this.#sequence > 0 && this.#slices.size > 0;
    if (moves.size === 0 && !(isHeld && nowMs - this.#renewedMs > renewMs)) return;
    await this.#carryOut({ moves, startedMs: monotonicMs() });
  }

  /** Learns which of the slices somebody else lacks, to give back what lies idle of them, or to say that nothing does. */
  async recallWanted(): Promise<void> {
    if (!this.#slices.values().some((slice) => slice.isHeld)) return;
    const wanted = await wantedSlices.listWanted(this.#database.db, this.#holder, wantedWithinMs);
    if (wanted.length === 0) return;
    const keys = new Set(wanted.map(counterKeyText));
    for (const slice of this.#slices.values()) {
      if (keys.has(counterKeyText(slice.place))) slice.recall();
    }
  }

  /** Ends the holding: what is left is given back, and running requests are charged as reserved. */
  async close(): Promise<void> {
    for (const slice of this.#slices.values()) slice.recall();
    await this.exchange(monotonicMs(), true);
    if (this.#sequence === 0) return;
    await this.#database.transaction(async (tx) => {
      await holders.findSequence(tx, this.#holder);
      await slices.chargeAll(tx, this.#holder);
      await holders.deleteOne(tx, this.#holder);
    });
  }

  async #carryOut(exchange: SliceExchange): Promise<void> {
    const attempt: { outcomes: readonly MoveOutcome[] | null } = { outcomes: null };
    try {
      await this.#database.transaction(async (tx) => {
        attempt.outcomes = null;
        if (!(await this.#renew(tx))) return;
        const moves = [...exchange.moves.keys()];
        attempt.outcomes = await slices.exchange(tx, this.#holder, moves, this.#now());
      });
    } catch (error) {
      const { outcomes } = attempt;
      if (isOutcomeUnknown(error) && outcomes !== null) this.#inDoubt = { ...exchange, outcomes };
      else this.#undo(exchange);
      throw error;
    }
    if (attempt.outcomes === null) this.#loseAll();
    else this.#end(exchange, attempt.outcomes);
  }

  async #renew(tx: Db): Promise<boolean> {
    if (this.#sequence > 0) return holders.renew(tx, this.#holder, this.#sequence, leaseMs);
    await holders.insert(tx, this.#holder, leaseMs);
    return true;
  }

  /** Asks what became of an exchange, and waits where it is still under way. */
  async #resolve(doubtful: DoubtfulExchange): Promise<void> {
    const sequence = await this.#database.transaction((tx) =>
      holders.findSequence(tx, this.#holder),
    );
    this.#inDoubt = null;
    if (sequence === this.#sequence + 1) this.#end(doubtful, doubtful.outcomes);
    else if (sequence === this.#sequence || this.#sequence === 0) this.#undo(doubtful);
    else this.#loseAll();
  }

  #end({ moves, startedMs }: SliceExchange, outcomes: readonly MoveOutcome[]): void {
    this.#sequence += 1;
    this.#renewedMs = startedMs;
    this.#lease.endsMs = startedMs + leaseMs - leaseMarginMs;
    let at = 0;
    for (const slice of moves.values()) slice.endMove(outcomes[at++]!, monotonicMs());
  }

  #undo({ moves }: SliceExchange): void {
    for (const [move, slice] of moves) slice.undoMove(move);
  }

  #loseAll(): void {
    for (const slice of this.#slices.values()) slice.lose();
    this.#sequence = 0;
    this.#lease.endsMs = 0;
    this.#holder = newHolder(this.#organisationId);
  }
}

function newHolder(organisationId: string): holders.Holder {
  return { organisationId, holder: randomBytes(16) };
}
