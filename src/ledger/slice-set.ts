/** Keeps the slices of one organisation, and separates those in use from the many that are not. */
import { counterKeyText } from '../store/usage/counter-place.ts';
import type { Limit } from './limit.ts';
import { Slice } from './slice.ts';
import type { HolderLease } from './slice-lease.ts';

/** Interval of looking at slices that are not in use. */
const sweepMs = 5_000;

interface SliceEvents {
  onNew(slice: Slice): void;
  onDropped(slice: Slice): void;
}

export class SliceSet {
  readonly #lease: HolderLease;
  readonly #events: SliceEvents;
  readonly #slices = new Map<string, Slice>();
  /** Slices by the limit object that was used last, which most requests of a window share. */
  readonly #byLimit = new Map<Limit, Slice>();
  /** Slices that are in use. */
  readonly #awake = new Set<Slice>();
  #sweptMs = 0;

  constructor(lease: HolderLease, events: SliceEvents) {
    this.#lease = lease;
    this.#events = events;
  }

  get size(): number {
    return this.#slices.size;
  }

  all(): IteratorObject<Slice> {
    return this.#slices.values();
  }

  slice(limit: Limit): Slice {
    const cached = this.#byLimit.get(limit);
    if (cached !== undefined) {
      if (!cached.isAwake) this.wake(cached);
      return cached;
    }
    const key = keyOf(limit);
    let slice = this.#slices.get(key);
    if (slice === undefined) {
      slice = new Slice(limit, this.#lease);
      this.#events.onNew(slice);
      this.#slices.set(key, slice);
    }
    this.wake(slice);
    this.#byLimit.delete(slice.limit);
    slice.setLimit(limit);
    this.#byLimit.set(limit, slice);
    return slice;
  }

  wake(slice: Slice): void {
    slice.isAwake = true;
    this.#awake.add(slice);
  }

  /** Lets slices of these counters, by `counterKeyText`, return their idle units; null for all. */
  recall(counters: ReadonlySet<string> | null, nowMs: number): void {
    for (const slice of this.#slices.values()) {
      if (counters !== null && !counters.has(counterKeyText(slice.counter))) continue;
      slice.recall(nowMs);
      this.wake(slice);
    }
  }

  /** Slices in use; from time to time all, so that units which are not used are returned. */
  due(nowMs: number): readonly Slice[] {
    if (nowMs - this.#sweptMs < sweepMs) return [...this.#awake];
    this.#sweptMs = nowMs;
    return [...this.#slices.values()];
  }

  /** Drops a slice that is not used, or leaves it out of the next exchanges. */
  rest(slice: Slice, nowMs: number): void {
    if (!slice.isQuiet(nowMs)) return;
    slice.isAwake = false;
    this.#awake.delete(slice);
    if (!slice.isUnused(nowMs)) return;
    this.#slices.delete(keyOf(slice.limit));
    this.#byLimit.delete(slice.limit);
    this.#events.onDropped(slice);
  }
}

function keyOf({ subjectKind, subjectId, isRate, windowStart, valueKey }: Limit): string {
  return `${subjectKind} ${subjectId} ${isRate} ${windowStart} ${valueKey}`;
}
