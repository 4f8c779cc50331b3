/** Knows what tells one counter of usage from all others, and in which table it lies. */
import { type RawBuilder, sql } from 'kysely';
import type { CountedKind } from './usage-counters.ts';

/** One counter: of a budget in `usage_counters`, of a rate limit in `rate_counters`. */
export interface CounterPlace {
  readonly isRate: boolean;
  readonly subjectKind: CountedKind;
  readonly subjectId: Buffer;
  readonly windowStart: number;
  readonly id: Buffer;
  /** For people; what tells the counter from others of its subject. */
  readonly valueKey: string;
  /** First millisecond after the window of a rate limit; null for a budget. */
  readonly endsAt: number | null;
}

export function counterTable(isRate: boolean): RawBuilder<unknown> {
  return sql.table(isRate ? 'rate_counters' : 'usage_counters');
}

/** What tells a counter from others of its table. */
export type CounterKey = Pick<CounterPlace, 'subjectKind' | 'subjectId' | 'windowStart' | 'id'>;

/** The same of one counter in one text. */
export function placeKey({ subjectKind, subjectId, windowStart, id }: CounterKey): string {
  return `${subjectKind} ${subjectId.toString('hex')} ${windowStart} ${id.toString('hex')}`;
}
