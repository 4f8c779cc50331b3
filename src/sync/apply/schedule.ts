/**
 * Decides which changes of a plan may start: those whose dependencies have ended or are in the same
 * set.
 */
import { afterMax } from '../../model/kinds/change-set.ts';
import { hasCredential } from '../../model/kinds/kinds.ts';
import type { PlannedChange } from '../plan/plan-model.ts';

export class Schedule {
  /** Number of changes that each change still waits for. */
  readonly #open = new Map<string, number>();
  readonly #dependants = new Map<string, PlannedChange[]>();
  /** Changes that may start; those that must go alone are separate. */
  readonly #ready = new Set<PlannedChange>();
  readonly #readyAlone = new Set<PlannedChange>();
  readonly #started = new Set<string>();
  readonly #last: readonly PlannedChange[];
  /** Changes that have not ended, without the final deletions. */
  #others = 0;
  /**
   * Changes that have not started, of the current group: first the others, then the final
   * deletions.
   */
  #notStarted = 0;

  /** @param changes in plan order */
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
   * Takes at most `max` changes that may start now, and counts them as started. Several changes are
   * for one set: each waits only for ended changes or for earlier ones of the set. Changes with
   * several steps go alone.
   *
   * @param mayBeFew false when a set that is not full waits for more changes
   */
  take(max: number, mayBeFew: boolean): readonly PlannedChange[] {
    for (const change of this.#readyAlone) return this.#start([change]);
    const batch: PlannedChange[] = [];
    const candidates = [...this.#ready.values().take(max)];
    /** Number of changes of the batch that each other change waits for. */
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

  /** Marks a change as ended, whatever its outcome. */
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

/** A rotation has several steps, each of which must end before the next. */
function goesAlone({ action }: PlannedChange): boolean {
  return action === 'rotate';
}

/** Later changes need the id that it creates, or the place that its value gives up. */
function isAwaited({ action, identity }: PlannedChange): boolean {
  return action === 'replace' || (hasCredential(identity.kind) && action !== 'create');
}
