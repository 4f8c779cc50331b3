/** Collects from a journal what processes that died have left, until it is settled. */
import type { EarlierGrants } from './earlier-grants.ts';
import { type HolderState, keyOf, type StoredUse } from './stored-use.ts';

/** State of some counters of one process; the one of a counter with the highest revision is valid. */
export interface JournalRecord {
  readonly organisationId: string;
  /** As hex. */
  readonly holder: string;
  readonly uses: readonly StoredUse[];
  /** The bank knows all usage of the holder, recorded on, because allowances are granted once a window. */
  readonly isSettled?: true;
}

export class LeftUsage {
  /** By holder as hex. */
  readonly states = new Map<string, HolderState>();
  /** Holders of which records may still be on disk. */
  readonly #ended = new Set<string>();
  readonly #earlier: EarlierGrants;

  constructor(earlier: EarlierGrants) {
    this.#earlier = earlier;
  }

  /** The usage of the holder is settled, or reported by this process. */
  end(holder: string): void {
    this.states.delete(holder);
    this.#ended.add(holder);
  }

  /** Adds a record, unless the holder has ended. */
  adopt({ organisationId, holder, uses, isSettled }: JournalRecord): void {
    if (this.#ended.has(holder) && !isSettled) return;
    if (isSettled) this.end(holder);
    const state = isSettled
      ? this.#earlier.stateOf(holder, organisationId)
      : (this.states.get(holder) ?? { organisationId, uses: new Map<string, StoredUse>() });
    if (!isSettled) this.states.set(holder, state);
    for (const use of uses) {
      const known = state.uses.get(keyOf(use));
      if (known === undefined || isLater(use, known)) state.uses.set(keyOf(use), use);
    }
  }
}

/** A state that was written anew may be on disk after a later one. */
function isLater({ revision = 0 }: StoredUse, known: StoredUse): boolean {
  return revision >= (known.revision ?? 0);
}
