/** Converts usage of counters to records of the journal and back. */
import type { CounterRef } from '../store/usage/counter-place.ts';
import type { JournalledUse } from '../store/usage/journalled-use.ts';

/** As JSON. */
export type StoredUse = Omit<JournalledUse, 'counter'> & {
  readonly counter: Omit<CounterRef, 'subjectId' | 'id'> & {
    readonly subjectId: string;
    readonly id: string;
  };
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

export function placeOfCounter({ subjectId, id, ...counter }: CounterRef): string {
  const ids = { subjectId: subjectId.toString('hex'), id: id.toString('hex') };
  return keyOf({ counter: { ...counter, ...ids } });
}

export function storedUse({ counter, ...use }: JournalledUse): StoredUse {
  const { subjectId, id } = counter;
  const ids = { subjectId: subjectId.toString('hex'), id: id.toString('hex') };
  return { ...use, counter: { ...counter, ...ids } };
}

export function restoredUse({ counter, ...use }: StoredUse): JournalledUse {
  const { subjectId, id } = counter;
  const ids = { subjectId: Buffer.from(subjectId, 'hex'), id: Buffer.from(id, 'hex') };
  return { ...use, counter: { ...counter, ...ids } };
}
