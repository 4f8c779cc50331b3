/** Keeps the grants of earlier processes in outages, because an allowance is granted once a window. */
import { drawnOf, type HolderState, type StoredUse } from './stored-use.ts';

export class EarlierGrants {
  /** By holder. The bank knows all of their usage. */
  readonly #states = new Map<string, HolderState>();
  readonly #now: () => number;

  /** `now` in milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now;
  }

  get holders(): Iterable<string> {
    return this.#states.keys();
  }

  /** Adds the grants of a holder, without those of windows that have ended. */
  keep(holder: string, { organisationId, uses }: HolderState): void {
    const open = new Map<string, StoredUse>();
    for (const [place, use] of uses) {
      const { endsAt } = use.counter;
      const isOver = endsAt !== null && endsAt <= this.#now();
      const settled = { ...use, before: 0, after: 0, running: 0, totalMax: null };
      if (use.drawn > 0 && !isOver) open.set(place, settled);
    }
    if (open.size > 0) this.#states.set(holder, { organisationId, uses: open });
    else this.#states.delete(holder);
  }

  /** The state of a holder, to which records on disk are added. */
  stateOf(holder: string, organisationId: string): HolderState {
    const state = this.#states.get(holder) ?? { organisationId, uses: new Map() };
    this.#states.set(holder, state);
    return state;
  }

  /** Grants of a counter, in units. */
  units(place: string): number {
    return drawnOf(this.#states.values(), place);
  }

  /** Grants count only as far as the counter is beyond its limit. */
  noteBeyond(place: string, beyondUnits: number): void {
    let leftUnits = Math.max(0, beyondUnits);
    for (const { uses } of this.#states.values()) {
      const use = uses.get(place);
      if (use === undefined) continue;
      const drawn = Math.min(use.drawn, leftUnits);
      leftUnits -= drawn;
      uses.set(place, { ...use, drawn });
    }
  }

  get isEmpty(): boolean {
    return this.#states.size === 0;
  }

  /** The states that still matter. */
  list(): readonly (readonly [holder: string, state: HolderState])[] {
    for (const [holder, state] of [...this.#states]) this.keep(holder, state);
    return [...this.#states];
  }
}
