/** A bank in memory, for tests with a simulated clock: one holder's exchange at a time, as the database carries them out. */
import type { BankAnswer, BankRequest, LimitBank } from '../../../src/ledger/limit-bank.ts';
import { type CounterKey, counterKeyText } from '../../../src/store/usage/counter-place.ts';
import type { JournalledUse } from '../../../src/store/usage/journalled-use.ts';
import {
  applyMove,
  type CountedMove,
  type LockedCounter,
  type MoveOutcome,
  type SliceMove,
} from '../../../src/store/usage/slice-moves.ts';
import type { Holder } from '../../../src/store/usage/usage-holders.ts';
import type { WantedSlice } from '../../../src/store/usage/wanted-slices.ts';

interface HeldSlice {
  readonly units: number;
  readonly counter: CounterKey;
  /** When the holder last returned all idle units; 0 for never. */
  readonly answeredMs: number;
}

/** A move that was carried out: what it changes here, and what its holder learns. */
export interface GrantedUnits extends Pick<CountedMove, 'outcome' | 'isShort'> {
  readonly answer: CountedMove['outcome'];
}

export class MemoryBank implements LimitBank {
  readonly counters = new Map<string, LockedCounter>();
  readonly #held = new Map<string, Map<string, HeldSlice>>();
  readonly #wantedMs = new Map<string, number>();
  #lastWantedMs = Number.NEGATIVE_INFINITY;
  readonly #nowMs: () => number;
  isAway = false;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  exchange({ holder, moves, listsHeld }: BankRequest): Promise<BankAnswer | null> {
    this.#requireBank();
    const slices = this.#slicesOf(holder);
    const outcomes = moves.map((move) => this.#carryOut(move, slices));
    const held = listsHeld ? [...slices.keys()] : null;
    return Promise.resolve({ outcomes, held, holders: this.#held.size });
  }

  listWanted(holders: readonly Holder[]): Promise<readonly WantedSlice[]> {
    this.#requireBank();
    const after = this.#nowMs() - 2_000;
    if (this.#lastWantedMs <= after) return Promise.resolve([]);
    const wanted = holders.flatMap((holder) =>
      [...this.#slicesOf(holder)]
        .filter(([key]) => (this.#wantedMs.get(key) ?? Number.NEGATIVE_INFINITY) > after)
        .map(([, { counter }]) => ({ ...counter, organisationId: holder.organisationId })),
    );
    return Promise.resolve(wanted);
  }

  settle(_holder: Holder, _uses: readonly JournalledUse[]): Promise<void> {
    return Promise.resolve();
  }

  close(holder: Holder): Promise<void> {
    this.#held.delete(holder.holder.toString('hex'));
    return Promise.resolve();
  }

  /** Lets the holders of a counter return idle units. */
  want(counter: CounterKey): void {
    this.#lastWantedMs = this.#nowMs();
    this.#wantedMs.set(counterKeyText(counter), this.#lastWantedMs);
  }

  /** When the last holder of a counter has returned idle units; null when none holds any. */
  answeredMs(counter: CounterKey): number | null {
    const key = counterKeyText(counter);
    const held = [...this.#held.values()].flatMap((slices) => slices.get(key) ?? []);
    return held.length === 0 ? null : Math.min(...held.map((one) => one.answeredMs));
  }

  /** Computes a move of a counter; by default within the limit. */
  protected grant(move: SliceMove, state: LockedCounter): GrantedUnits {
    const { outcome, isShort } = applyMove(move, state);
    return { outcome, answer: outcome, isShort };
  }

  #requireBank(): void {
    if (this.isAway) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
  }

  #slicesOf({ holder }: Holder): Map<string, HeldSlice> {
    const key = holder.toString('hex');
    const slices = this.#held.get(key) ?? new Map<string, HeldSlice>();
    this.#held.set(key, slices);
    return slices;
  }

  #carryOut(move: SliceMove, slices: Map<string, HeldSlice>): MoveOutcome {
    const { counter } = move;
    const key = counterKeyText(counter);
    const before: LockedCounter = this.counters.get(key) ?? {
      subject_kind: counter.subjectKind,
      subject_id: counter.subjectId,
      window_start: counter.windowStart,
      id: counter.id,
      used_units: 0,
      reserved_units: 0,
      threshold_alert_units: null,
      exhausted_alert_units: null,
      refused_units: null,
      refused_limit_units: null,
    };
    const { outcome, answer, isShort } = this.grant(move, before);
    const { usedUnits, reservedUnits } = outcome;
    this.counters.set(key, { ...before, used_units: usedUnits, reserved_units: reservedUnits });
    if (isShort) this.want(counter);
    const units = move.units - move.spent - move.offered + outcome.granted;
    const answeredMs = move.isAnswer ? this.#nowMs() : (slices.get(key)?.answeredMs ?? 0);
    if (units > 0) slices.set(key, { units, counter, answeredMs });
    else slices.delete(key);
    return { ...answer, shortage: null };
  }
}
