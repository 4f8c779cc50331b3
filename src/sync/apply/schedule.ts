/** Knows which changes of a plan may be started: those whose dependencies are over, or go in the same set before them. */
import { afterMax } from '../../model/kinds/change-set.ts';
import type { PlannedChange } from '../plan/planned.ts';

export class Schedule {
  /** How many changes each one still waits for. */
  readonly #open = new Map<string, number>();
  readonly #dependants = new Map<string, PlannedChange[]>();
  /** May be started, and are not; those that go alone apart. */
  readonly #ready = new Set<PlannedChange>();
  readonly #readyAlone = new Set<PlannedChange>();
  readonly #started = new Set<string>();
  readonly #last: readonly PlannedChange[];
  /** Changes that are no last ones, and are not over. */
  #others = 0;
  /** Not started, of those that are, or of the last ones once it is their turn. */
  #notStarted = 0;

  /** In the order of the plan. */
  constructor(changes: readonly PlannedChange[]) {
    const known = new Set(changes.map(({ id }) => id));
    for (const change of changes) {
      const needed = change.dependsOn.filter((id) => known.has(id));
      this.#open.set(change.id, needed.length);
      for (const id of needed) {
        const dependants = this.#dependants.get(id);
        if (dependants === undefined) this.#dependants.set(id, [change]);
        else dependants.push(change);
      }
    }
    this.#last = changes.filter(({ last }) => last);
    const others = changes.filter(({ last }) => !last);
    this.#others = others.length;
    this.#begin(others);
    if (others.length === 0) this.#begin(this.#last);
  }

  /**
   * What to start next, at most so many; it counts as started. Several are for one set: each waits for
   * nothing but what is over or stands before it. What takes several steps goes alone.
   *
   * @param mayBeFew false where a set that is not full waits for more
   */
  take(max: number, mayBeFew: boolean): readonly PlannedChange[] {
    for (const change of this.#readyAlone) return this.#start([change]);
    const batch: PlannedChange[] = [];
    const candidates = [...this.#ready.values().take(max)];
    /** How many of the batch each other change waits for. */
    const inBatch = new Map<string, number>();
    for (let at = 0; at < candidates.length && batch.length < max; at += 1) {
      const change = candidates[at]!;
      batch.push(change);
      if (max === 1 || isAwaited(change)) continue;
      for (const dependant of this.#dependants.get(change.id) ?? []) {
        const count = (inBatch.get(dependant.id) ?? 0) + 1;
        inBatch.set(dependant.id, count);
        const isFree = this.#open.get(dependant.id) === count && count <= afterMax;
        if (isFree && this.#isItsTurn(dependant) && !goesAlone(dependant)) {
          candidates.push(dependant);
        }
      }
    }
    const isWhole = batch.length === max || batch.length === this.#notStarted;
    return isWhole || mayBeFew ? this.#start(batch) : [];
  }

  /** It is over, whichever way. */
  end(change: PlannedChange): void {
    for (const dependant of this.#dependants.get(change.id) ?? []) {
      const open = this.#open.get(dependant.id)! - 1;
      this.#open.set(dependant.id, open);
      const isFree = open === 0 && !this.#started.has(dependant.id);
      if (isFree && this.#isItsTurn(dependant)) this.#free(dependant);
    }
    if (change.last) return;
    this.#others -= 1;
    if (this.#others === 0) this.#begin(this.#last);
  }

  #begin(changes: readonly PlannedChange[]): void {
    this.#notStarted = changes.length;
    for (const change of changes) if (this.#open.get(change.id) === 0) this.#free(change);
  }

  #free(change: PlannedChange): void {
    (goesAlone(change) ? this.#readyAlone : this.#ready).add(change);
  }

  #isItsTurn({ last }: PlannedChange): boolean {
    return !last || this.#others === 0;
  }

  #start(batch: readonly PlannedChange[]): readonly PlannedChange[] {
    for (const change of batch) {
      this.#ready.delete(change);
      this.#readyAlone.delete(change);
      this.#started.add(change.id);
    }
    this.#notStarted -= batch.length;
    return batch;
  }
}

/** A rotation is made of several steps, each of which must be over before the next. */
function goesAlone({ action }: PlannedChange): boolean {
  return action === 'rotate';
}

/** What comes after it needs the id that it brings, or the place that its value gives up. */
function isAwaited({ action, identity }: PlannedChange): boolean {
  return action === 'replace' || (identity.kind === 'ApiKey' && action !== 'create');
}
