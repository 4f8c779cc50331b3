/** Holds the slices that this process has of one organisation's counters, and settles them with the bank. */
import { randomBytes } from 'node:crypto';
import { type CounterKey, counterKeyText } from '../store/usage/counter-place.ts';
import type { SliceMove } from '../store/usage/slice-moves.ts';
import type { Holder } from '../store/usage/usage-holders.ts';
import { BankExchanges, type SliceExchange } from './bank-exchanges.ts';
import { endExchange } from './exchange-answer.ts';
import type { UsageJournal } from './journal/usage-journal.ts';
import type { Limit } from './limit.ts';
import type { BankAnswer, BankRequest, LimitBank } from './limit-bank.ts';
import { LostUses } from './lost-uses.ts';
import type { Sharing } from './share.ts';
import type { Slice } from './slice.ts';
import { type HolderLease, holderLeaseMs, leaseMarginMs } from './slice-lease.ts';
import { SliceSet } from './slice-set.ts';
import { UncoveredSlices } from './uncovered-slices.ts';

const renewMs = 8_000;
/** Interval of counting the processes that share rate limits in an outage. */
const countMs = 2_000;
const movesMax = 200;

export interface SliceSources {
  readonly bank: LimitBank;
  /** Null without a folder for it. */
  readonly journal: UsageJournal | null;
  readonly clock: SliceClock;
}

export interface SliceClock {
  /** Milliseconds since the epoch, which decide when windows end. */
  now(): number;
  /** Milliseconds of the monotonic clock. */
  monotonicMs(): number;
}

/**
 * Runs one exchange at a time. Each exchange renews the lease of the holder, reports usage, returns idle units and takes
 * needed ones.
 *
 * An exchange with unknown outcome is repeated before anything else. A holder that did not renew its lease in time no
 * longer uses the units that end with it, because the job charge-lost-slices charges them; before it goes on, it looks up
 * which slices it still has.
 */
export class OrganisationSlices {
  readonly #clock: SliceClock;
  readonly #uncovered: UncoveredSlices | null;
  readonly #organisationId: string;
  #holder: Holder;
  readonly #slices: SliceSet;
  /** Sequence number of the last exchange; 0 before the first and after a lost lease. */
  #sequence = 0;
  readonly #lease: HolderLease = { endsMs: 0 };
  #renewedMs = 0;
  #countedMs = 0;
  readonly #exchanges: BankExchanges;
  readonly #lostUses = new LostUses();
  /** As of the last count. */
  sharing: Sharing = { holders: null, rank: null };

  constructor({ bank, journal, clock }: SliceSources, organisationId: string) {
    this.#exchanges = new BankExchanges(bank);
    this.#clock = clock;
    this.#organisationId = organisationId;
    const place = () => ({ holder: this.#holder, sequence: this.#sequence });
    this.#uncovered = journal === null ? null : new UncoveredSlices(journal, place);
    this.#slices = new SliceSet(this.#lease, {
      onNew: (slice) => this.#uncovered?.watch(slice),
      onDropped: (slice) => this.#uncovered?.drop(slice),
    });
    this.#holder = newHolder(this.#organisationId, this.#uncovered !== null);
  }

  /** Resolves when usage that the bank does not cover is on disk. Rejects when the disk does not take it. */
  async secure(slices: readonly Slice[]): Promise<void> {
    await this.#uncovered?.write(slices);
  }

  /** Resolves when the journal allows for what is reserved of the slices. */
  async raise(slices: readonly Slice[]): Promise<void> {
    await this.#uncovered?.raise(slices);
  }

  slice(limit: Limit): Slice {
    return this.#slices.slice(limit);
  }

  /** Whether nothing is held, and nothing is left to report. */
  get isIdle(): boolean {
    return this.#slices.size === 0 && this.#exchanges.inDoubt === null && this.#lostUses.isEmpty;
  }

  /**
   * Runs an exchange if there is anything to exchange; with `isDue` it also reports usage. `nowMs` by the monotonic
   * clock. Rejects when the bank does not respond; the next exchange then repeats everything.
   */
  async exchange(nowMs: number, isDue: boolean): Promise<void> {
    const { inDoubt } = this.#exchanges;
    if (inDoubt !== null) await this.#carryOut(inDoubt);
    if (this.#sequence > 0 && nowMs >= this.#lease.endsMs) await this.#run(new Map(), true);
    await this.#correctLost();
    let moves = new Map<SliceMove, Slice>();
    const wallMs = this.#clock.now();
    const due = this.#slices.due(nowMs);
    for (const slice of due) {
      const move = slice.beginMove({ nowMs, isDue, hasEnded: hasEnded(slice.limit, wallMs) });
      if (move !== null) moves.set(move, slice);
      else this.#slices.rest(slice, nowMs);
      if (moves.size < movesMax) continue;
      await this.#run(moves, false);
      await this.#correctLost();
      moves = new Map();
    }
    this.#uncovered?.promise(due, nowMs, wallMs);
    const isHeld = this.#sequence > 0 && this.#slices.size > 0;
    if (moves.size === 0 && !(isHeld && nowMs - this.#renewedMs > renewMs)) return;
    await this.#run(moves, false);
  }

  /** The holder that may have units which other processes lack; null when it has none. */
  get recallable(): Holder | null {
    return this.#slices.all().some((slice) => slice.isHeld) ? this.#holder : null;
  }

  /** Other processes lack these slices: the next exchange returns idle units, or reports that there are none. */
  recall(wanted: readonly CounterKey[]): void {
    this.#slices.recall(new Set(wanted.map(counterKeyText)), this.#clock.monotonicMs());
  }

  /** Returns unused units, and charges running requests with their reservations. */
  async close(): Promise<void> {
    this.#slices.recall(null, this.#clock.monotonicMs());
    await this.exchange(this.#clock.monotonicMs(), true);
    await this.#correctLost();
    // Running requests may have reserved what the process granted itself.
    const uncovered = this.#uncovered?.list(this.#slices.all()) ?? [];
    await this.#exchanges.close({ holder: this.#holder, sequence: this.#sequence }, uncovered);
    this.#uncovered?.end(this.#slices.all());
  }

  /** Before anything else is moved, because a new slice of the same counter takes the place of the lost one. */
  async #correctLost(): Promise<void> {
    while (!this.#lostUses.isEmpty) await this.#run(new Map(), false);
  }

  async #run(moves: ReadonlyMap<SliceMove, Slice>, listsHeld: boolean): Promise<void> {
    await this.#uncovered?.beginExchange([...moves.values()]);
    const startedMs = this.#clock.monotonicMs();
    const request: BankRequest = {
      holder: this.#holder,
      sequence: this.#sequence,
      moves: [...moves.keys()],
      listsHeld,
      keepsAnswer: false,
      countsHolders: this.sharing.holders === null || startedMs - this.#countedMs > countMs,
      lostUses: this.#lostUses.next(),
    };
    await this.#carryOut({ moves, request, startedMs });
  }

  async #carryOut(exchange: SliceExchange): Promise<void> {
    const answer = await this.#exchanges.send(exchange);
    if (answer === null) this.#loseAll();
    else this.#end(exchange, answer);
  }

  #end({ moves, request, startedMs }: SliceExchange, answer: BankAnswer): void {
    this.#sequence += 1;
    this.#lease.endsMs = startedMs + holderLeaseMs - leaseMarginMs;
    this.#renewedMs = startedMs;
    if (request.countsHolders) {
      this.#countedMs = startedMs;
      this.sharing = { holders: answer.holders, rank: answer.rank ?? null };
    }
    const lostUses = endExchange(answer, [...moves.values()], {
      all: this.#slices.all(),
      uncovered: this.#uncovered,
      startedMs,
      nowMs: this.#clock.monotonicMs(),
    });
    this.#lostUses.endExchange(request.lostUses, lostUses);
  }

  #loseAll(): void {
    for (const slice of this.#slices.all()) slice.loseHolder();
    this.#sequence = 0;
    this.#lostUses.clear();
    this.#lease.endsMs = 0;
    this.#uncovered?.forget();
    this.#holder = newHolder(this.#organisationId, this.#uncovered !== null);
    this.#uncovered?.noteAll(this.#slices.all());
  }
}

/** Whether the window of the limit has ended. */
function hasEnded({ endsAt }: Limit, nowMs: number): boolean {
  return endsAt !== null && endsAt <= nowMs;
}

function newHolder(organisationId: string, isJournalled: boolean): Holder {
  return { organisationId, holder: randomBytes(16), isJournalled };
}
