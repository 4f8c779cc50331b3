/** Holds the slices that this process has of one organisation's counters, and settles them with the database. */
import { randomBytes } from 'node:crypto';
import { monotonicMs } from '../monotonic.ts';
import type { Database, Db } from '../store/connection/db.ts';
import { isOutcomeUnknown } from '../store/connection/unavailable.ts';
import { counterKeyText } from '../store/usage/counter-place.ts';
import type { MoveOutcome, SliceMove } from '../store/usage/slice-moves.ts';
import * as holders from '../store/usage/usage-holders.ts';
import * as slices from '../store/usage/usage-slices.ts';
import * as wantedSlices from '../store/usage/wanted-slices.ts';
import type { Limit } from './limit.ts';
import { Slice, type SliceLease } from './slice.ts';

/** Lease of a process, after which everything it holds is charged. */
const leaseMs = 30_000;
/** A holder stops using its slices this much before the lease ends. */
const leaseMarginMs = 5_000;
const renewMs = 8_000;
const movesMax = 200;
/** Age up to which a recorded shortage counts; waiting processes renew it more often. */
const wantedWithinMs = 2_000;

interface SliceExchange {
  readonly moves: ReadonlyMap<SliceMove, Slice>;
  readonly startedMs: number;
}

/** An exchange with unknown result, and the outcomes it would have had. */
interface DoubtfulExchange extends SliceExchange {
  readonly outcomes: readonly MoveOutcome[];
}

/**
 * Runs one exchange at a time. Each exchange is a transaction that renews the lease of the holder, reports usage,
 * returns idle units and takes needed ones.
 *
 * The result of an exchange whose commit was lost is looked up before the next one, by its sequence number. A holder
 * that did not renew its lease in time no longer uses its units, because the job charge-lost-slices charges them.
 */
export class OrganisationSlices {
  readonly #database: Pick<Database, 'db' | 'transaction'>;
  readonly #now: () => number;
  readonly #organisationId: string;
  #holder: holders.Holder;
  readonly #slices = new Map<string, Slice>();
  /** Slices by the limit object that was used last, which most requests of a window share. */
  readonly #byLimit = new Map<Limit, Slice>();
  /** Sequence number of the last exchange; 0 before the first and after a lost lease. */
  #sequence = 0;
  readonly #lease: SliceLease = { endsMs: 0 };
  #renewedMs = 0;
  /** An exchange whose result is unknown. */
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
    const cached = this.#byLimit.get(limit);
    if (cached !== undefined) return cached;
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

  /** Whether nothing is held, and nothing is left to report. */
  get isIdle(): boolean {
    return this.#slices.size === 0 && this.#inDoubt === null;
  }

  /**
   * Runs an exchange if there is anything to exchange; with `isDue` it also reports usage. `nowMs` by the monotonic
   * clock. Rejects when the database does not respond; the next exchange then repeats everything.
   */
  async exchange(nowMs: number, isDue: boolean): Promise<void> {
    if (this.#inDoubt !== null) await this.#resolve(this.#inDoubt);
    let moves = new Map<SliceMove, Slice>();
    for (const [key, slice] of this.#slices) {
      const move = slice.beginMove(nowMs, isDue);
      if (move !== null) moves.set(move, slice);
      else if (slice.isUnused(nowMs)) {
        this.#slices.delete(key);
        this.#byLimit.delete(slice.limit);
      }
      if (moves.size < movesMax) continue;
      await this.#run({ moves, startedMs: monotonicMs() });
      moves = new Map();
    }
    const isHeld = this.#sequence > 0 && this.#slices.size > 0;
    if (moves.size === 0 && !(isHeld && nowMs - this.#renewedMs > renewMs)) return;
    await this.#run({ moves, startedMs: monotonicMs() });
  }

  /** Reads which slices other processes lack, so that the next exchange returns idle units or reports that there are none. */
  async recallWanted(): Promise<void> {
    if (!this.#slices.values().some((slice) => slice.isHeld)) return;
    const wanted = await wantedSlices.listWanted(this.#database.db, this.#holder, wantedWithinMs);
    if (wanted.length === 0) return;
    const keys = new Set(wanted.map(counterKeyText));
    for (const slice of this.#slices.values()) {
      if (keys.has(counterKeyText(slice.counter))) slice.recall(monotonicMs());
    }
  }

  /** Returns unused units, and charges running requests with their reservations. */
  async close(): Promise<void> {
    for (const slice of this.#slices.values()) slice.recall(monotonicMs());
    await this.exchange(monotonicMs(), true);
    if (this.#sequence === 0) return;
    await this.#database.transaction(async (tx) => {
      await holders.findSequence(tx, this.#holder);
      await slices.chargeAll(tx, this.#holder);
      await holders.deleteOne(tx, this.#holder);
    });
  }

  async #run(exchange: SliceExchange): Promise<void> {
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

  /** Looks up the result of an exchange; the row lock waits for one that is still running. */
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
