/** Journals usage that no unit of the bank covers: of soft limits, beyond reservations, and granted in an outage. */
import { detach } from '../detached.ts';
import type { JournalledUse } from '../store/usage/journalled-use.ts';
import type { Holder } from '../store/usage/usage-holders.ts';
import type { Slice } from './slice.ts';
import type { UsableSlice } from './usable-slice.ts';
import type { UsageJournal } from './usage-journal.ts';

/** Delay of writing usage that requests do not wait for; the spool adds its own. */
const writeAfterMs = 5;

export class UncoveredSlices {
  readonly #journal: UsageJournal;
  readonly #place: () => { readonly holder: Holder; readonly sequence: number };
  readonly #changed = new Set<UsableSlice>();
  /** The last states that are on disk. */
  readonly #written = new WeakMap<UsableSlice, string>();
  #timer: NodeJS.Timeout | null = null;

  constructor(
    journal: UsageJournal,
    place: () => { readonly holder: Holder; readonly sequence: number },
  ) {
    this.#journal = journal;
    this.#place = place;
  }

  /** Follows a new slice. */
  watch(slice: Slice): void {
    slice.onUncovered = (changed) => this.#note(changed);
  }

  noteAll(slices: Iterable<Slice>): void {
    for (const slice of slices) if (slice.uncovered.after > 0) this.#note(slice);
  }

  /** Before an exchange: writes which usage it reports, so that it is not charged again. */
  async beginExchange(slices: readonly Slice[]): Promise<void> {
    const { sequence } = this.#place();
    // Attempts that fail repeat the same state.
    const reported = slices.filter(
      (slice) =>
        slice.uncovered.before > 0 && this.#written.get(slice) !== stateOf(slice, sequence),
    );
    // A full disk does not keep usage from the bank.
    if (reported.length > 0) await this.write(reported).catch(() => undefined);
  }

  async write(slices: readonly UsableSlice[]): Promise<void> {
    if (slices.length === 0) return;
    for (const slice of slices) this.#changed.delete(slice);
    const { holder, sequence } = this.#place();
    const states = slices.map((slice) => [slice, stateOf(slice, sequence)] as const);
    await this.#journal.write(
      holder,
      slices.map((slice) => useOf(slice, sequence)),
    );
    for (const [slice, state] of states) this.#written.set(slice, state);
  }

  forget(): void {
    this.#changed.clear();
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

function stateOf({ uncovered: { before, after, running } }: UsableSlice, sequence: number): string {
  return `${sequence} ${before} ${after} ${running}`;
}

function useOf(slice: UsableSlice, sequence: number): JournalledUse {
  const { limitUnits, alertThresholdUnits, type, label } = slice.limit;
  const terms = { limitUnits, alertThresholdUnits, type, label };
  return { counter: slice.counter, sequence, drawn: slice.drawn, ...slice.uncovered, ...terms };
}
