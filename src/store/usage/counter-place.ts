/** Identifies usage counters and selects the table of each. */
import { type RawBuilder, sql } from 'kysely';
import type { CountedKind } from './usage-counters.ts';

/** Identifies one counter: of a budget in `usage_counters`, of a rate limit in `rate_counters`. */
export interface CounterRef {
  readonly isRate: boolean;
  readonly subjectKind: CountedKind;
  readonly subjectId: Buffer;
  readonly windowStart: number;
  readonly id: Buffer;
  /** Readable form of the value that the counter counts. */
  readonly valueKey: string;
  /** First millisecond after the window of a rate limit; null for a budget. */
  readonly endsAt: number | null;
}

export function counterTable(isRate: boolean): RawBuilder<unknown> {
  return sql.table(isRate ? 'rate_counters' : 'usage_counters');
}

/** Primary key of a counter within its organisation. */
export type CounterKey = Pick<CounterRef, 'subjectKind' | 'subjectId' | 'windowStart' | 'id'>;

/** The keys of counters as a list for IN, in the order of {@link CounterKey}. */
export function counterKeyList(counters: readonly CounterKey[]): RawBuilder<unknown> {
  return sql.join(
    counters.map(
      ({ subjectKind, subjectId, windowStart, id }) =>
        sql`(${subjectKind}, ${subjectId}, ${windowStart}, ${id})`,
    ),
  );
}

/** The key of a counter as one text. */
export function counterKeyText({ subjectKind, subjectId, windowStart, id }: CounterKey): string {
  return `${subjectKind} ${subjectId.toString('hex')} ${windowStart} ${id.toString('hex')}`;
}
