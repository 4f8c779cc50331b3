/** Journals usage that no unit of the bank covers, and how much of the units that are held may be used. */
import { detach } from '../detached.ts';
import type { JournalledUse } from '../store/usage/journalled-use.ts';
import type { Holder } from '../store/usage/usage-holders.ts';
import type { UsageJournal } from './journal/usage-journal.ts';
import { WrittenStates } from './journal/written-states.ts';
import type { Slice } from './slice.ts';
import type { UsableSlice } from './usable-slice.ts';

/** Least time that a window lasts on. */
const windowMsMin = 60_000;
/** Slices with a bound. */
const promisedMax = 5_000;
/** Interval of lowering a bound. */
const loweredEveryMs = 2_000;
/** Time without new bounds after the disk has refused one. */
const retryMs = 30_000;
/** Share of the idle units of a slice that lowering its bound must save. */
const savedShareMin = 0.05;

/** Tells the holder, and the number of its last exchange. */
type ExchangePlace = () => { readonly holder: Holder; readonly sequence: number };

interface PromiseTime {
  readonly atMs: number;
}

/** Delay of writing usage that requests do not wait for; the spool adds its own. */
const writeAfterMs = 5;

export class UncoveredSlices {
  readonly #journal: UsageJournal;
  readonly #place: ExchangePlace;
  readonly #changed = new Set<UsableSlice>();
  readonly #written = new WrittenStates();
  #timer: NodeJS.Timeout | null = null;
  /** Monotonic clock; as of the last exchange. */
  #nowMs = 0;
  #failedMs = Number.NEGATIVE_INFINITY;
  /** The highest bound of any slice. */
  #highest = 0;
  /** Slices with a bound. */
  readonly #promised = new Map<UsableSlice, PromiseTime>();

  constructor(journal: UsageJournal, place: ExchangePlace) {
    this.#journal = journal;
    this.#place = place;
  }

  /** Follows a new slice. */
  watch(slice: Slice): void {
    slice.startTotal(this.#highest + 1);
    slice.onUncovered = (changed) => this.#note(changed);
  }

  /** The slice has no units, and nothing to report. */
  drop(slice: Slice): void {
    this.#promised.delete(slice);
    this.#changed.delete(slice);
    if (slice.promise.latest !== null) this.#journal.drop(this.#place().holder, slice.counter);
  }

  /** Bounds what may be used of slices, so that a restart is charged with less than all of their units. */
  promise(slices: readonly Slice[], nowMs: number, wallMs: number): void {
    this.#nowMs = nowMs;
    // A disk that takes no bound is left alone for a while: each attempt holds requests up.
    if (nowMs - this.#failedMs < retryMs) return;
    const isDue = (slice: Slice) => {
      const earlier = this.#promised.get(slice);
      if (earlier === undefined && this.#promised.size >= promisedMax) return false;
      return isPromiseDue(slice, earlier, { nowMs, wallMs });
    };
    const due = slices.filter(isDue);
    if (due.length === 0) return;
    for (const slice of due) this.#promised.set(slice, { atMs: nowMs });
    detach(
      'journalling bounds of usage',
      this.write(due).catch(() => undefined),
    );
  }

  /** Resolves when the bounds on disk allow for what is reserved of the slices. */
  async raise(slices: readonly Slice[]): Promise<void> {
    for (const slice of slices) this.#promised.set(slice, { atMs: this.#nowMs });
    await this.write(slices);
  }

  noteAll(slices: Iterable<Slice>): void {
    for (const slice of slices) if (slice.uncovered.after > 0) this.#note(slice);
  }

  /** A move has ended, or the slice was lost: usage on disk that units cover now would be charged twice. */
  noteMoved(slice: Slice): void {
    if (this.#written.after(slice) !== slice.uncovered.after) this.#note(slice);
  }

  /** Before an exchange: writes which usage it reports, so that it is not charged again. */
  async beginExchange(slices: readonly Slice[]): Promise<void> {
    const { sequence } = this.#place();
    // Attempts that fail repeat the same state.
    const reported = slices.filter(
      (slice) => slice.uncovered.before > 0 && !this.#written.has(slice, sequence),
    );
    // A full disk does not keep usage from the bank.
    if (reported.length > 0) await this.write(reported).catch(() => undefined);
  }

  async write(slices: readonly UsableSlice[]): Promise<void> {
    if (slices.length === 0) return;
    for (const slice of slices) this.#changed.delete(slice);
    const { holder, sequence } = this.#place();
    const noteWritten = this.#written.begin(slices, sequence);
    const ends = slices.map((slice) => this.#beginPromise(slice));
    try {
      await this.#journal.write(
        holder,
        slices.map((slice) => useOf(slice, sequence)),
      );
    } catch (error) {
      this.#failedMs = this.#nowMs;
      for (const slice of slices) {
        if (this.#promised.delete(slice)) slice.voidPromise(this.#highest);
      }
      throw error;
    }
    for (const end of ends) end?.();
    noteWritten();
  }

  #beginPromise(slice: UsableSlice): (() => void) | null {
    if (!this.#promised.has(slice)) return null;
    const units = slice.roomyTotal(this.#nowMs);
    this.#highest = Math.max(this.#highest, units);
    return slice.promise.begin(units);
  }

  /** Usage of these slices that no unit of the bank covers. */
  list(slices: Iterable<Slice>): JournalledUse[] {
    const { sequence } = this.#place();
    const open = [...slices].filter(({ uncovered: { before, after } }) => before + after > 0);
    return open.map((slice) => useOf(slice, sequence));
  }

  /** After the last exchange of the holder. */
  end(slices: Iterable<Slice>): void {
    this.#changed.clear();
    this.#promised.clear();
    const { holder, sequence } = this.#place();
    const drawing = [...slices].filter((slice) => slice.drawn > 0);
    this.#journal.end(
      holder,
      drawing.map((slice) => useOf(slice, sequence)),
    );
  }

  /** The bank has told the usage of the counter. */
  noteBeyond({ counter }: Slice, beyondUnits: number): void {
    this.#journal.noteBeyond(counter, beyondUnits);
  }

  forget(): void {
    this.#changed.clear();
    this.#promised.clear();
    this.#journal.forget(this.#place().holder);
  }

  #note(slice: UsableSlice): void {
    this.#changed.add(slice);
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      // The figures of the spool show what it did not take.
      detach(
        'journalling usage',
        this.write([...this.#changed]).catch(() => undefined),
      );
    }, writeAfterMs);
  }
}

/** Whether the bound of a slice is too low, or could save much by being lower. */
function isPromiseDue(
  slice: Slice,
  earlier: PromiseTime | undefined,
  { nowMs, wallMs }: { readonly nowMs: number; readonly wallMs: number },
): boolean {
  const { limit, promise } = slice;
  if (limit.isRate || !limit.isHard || !slice.isHeld) return false;
  if (limit.endsAt !== null && limit.endsAt - wallMs < windowMsMin) return false;
  const roomy = slice.roomyTotal(nowMs);
  // Half of the room is used.
  if (promise.bound < (slice.totalMax + roomy) / 2) return true;
  if (earlier !== undefined && nowMs - earlier.atMs < loweredEveryMs) return false;
  const reachable = Math.min(promise.bound, slice.heldTotal);
  return reachable - roomy > (slice.heldTotal - slice.totalMax) * savedShareMin;
}

function useOf(slice: UsableSlice, sequence: number): JournalledUse {
  const { limitUnits, alertThresholdUnits, type, label } = slice.limit;
  const terms = { limitUnits, alertThresholdUnits, type, label };
  const use = { sequence, drawn: slice.drawn, ...slice.uncovered };
  return { counter: slice.counter, ...use, ...terms, totalMax: slice.promise.latest };
}
