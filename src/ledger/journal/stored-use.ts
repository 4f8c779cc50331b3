/** Converts usage of counters to records of the journal and back. */
import type { CounterRef } from '../../store/usage/counter-place.ts';
import type { JournalledUse } from '../../store/usage/journalled-use.ts';

/** As JSON. */
export type StoredUse = Omit<JournalledUse, 'counter'> & {
  readonly counter: Omit<CounterRef, 'subjectId' | 'id'> & {
    readonly subjectId: string;
    readonly id: string;
  };
  /** Increases with each state that the process writes; absent in records of earlier versions. */
  readonly revision?: number;
};

/** The last states of the counters of one holder. */
export interface HolderState {
  readonly organisationId: string;
  readonly uses: Map<string, StoredUse>;
}

export function keyOf({ counter }: Pick<StoredUse, 'counter'>): string {
  const { isRate, subjectKind, subjectId, windowStart, id } = counter;
  return [Number(isRate), subjectKind, subjectId, windowStart, id].join(' ');
}

export function placeOfCounter(counter: CounterRef): string {
  return keyOf({ counter: storedCounter(counter) });
}

/** Units of the counter at a place that these processes granted themselves. */
export function drawnOf(states: Iterable<HolderState>, place: string): number {
  let units = 0;
  for (const { uses } of states) units += uses.get(place)?.drawn ?? 0;
  return units;
}

export function storedUse({ counter, ...use }: JournalledUse, revision: number): StoredUse {
  return { ...use, counter: storedCounter(counter), revision };
}

function storedCounter({ subjectId, id, ...counter }: CounterRef): StoredUse['counter'] {
  return { ...counter, subjectId: subjectId.toString('hex'), id: id.toString('hex') };
}

export function restoredUse({ counter, revision: _, ...use }: StoredUse): JournalledUse {
  const { subjectId, id } = counter;
  const ids = { subjectId: Buffer.from(subjectId, 'hex'), id: Buffer.from(id, 'hex') };
  return { ...use, counter: { ...counter, ...ids } };
}
