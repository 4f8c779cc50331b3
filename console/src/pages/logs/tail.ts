/** Holds the newest requests of the log: which rows are known, and which times have to be read again. */
import type { RowOf } from '../../api/client.ts';
import type { LogRow } from './log-row.ts';

export type LogBatch = RowOf<'/v1/logs/batches'>;

/** Rows that the browser holds. */
export const rowsMax = 5000;

/** Transactions become visible in another order than they stored their rows, a moment apart. */
const overlapMs = 10_000;

/** Times of ended requests, both included, in milliseconds since the epoch. */
export interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

/** Batches of rows that have been read, by id, as long as a list can contain them again. */
export class KnownBatches {
  readonly #storedAt = new Map<string, number>();
  #newestAt = 0;

  /** From when on the next list of batches is read; undefined before the first batch. */
  get since(): string | undefined {
    if (this.#newestAt === 0) return undefined;
    return new Date(this.#newestAt - overlapMs).toISOString();
  }

  /** Returns the batches that were not noted before. */
  note(batches: readonly LogBatch[]): LogBatch[] {
    const added = batches.filter(({ id }) => !this.#storedAt.has(id));
    for (const { id, stored_at: at } of added) {
      this.#storedAt.set(id, Date.parse(at));
      this.#newestAt = Math.max(this.#newestAt, Date.parse(at));
    }
    for (const [id, at] of this.#storedAt) {
      if (at < this.#newestAt - overlapMs) this.#storedAt.delete(id);
    }
    return added;
  }
}

/** The times of batches, those that touch joined, the newest first; none of those before `from`. */
export function spansOf(batches: readonly LogBatch[], from: number): TimeSpan[] {
  const spans = batches
    .map(({ first_ended_at: first, last_ended_at: last }) => ({
      from: Math.max(from, Date.parse(first)),
      to: Date.parse(last),
    }))
    .filter((span) => span.from <= span.to)
    .sort((one, other) => one.from - other.from);
  const joined: TimeSpan[] = [];
  for (const span of spans) {
    const last = joined.at(-1);
    if (last === undefined || span.from > last.to + 1) joined.push(span);
    else joined[joined.length - 1] = { from: last.from, to: Math.max(last.to, span.to) };
  }
  return joined.reverse();
}

/** The known rows with those that are new, each once, newest first; the oldest are given up beyond the bound. */
export function withRows(known: readonly LogRow[], page: readonly LogRow[]): readonly LogRow[] {
  const ids = new Set(known.map(({ id }) => id));
  const added = page.filter(({ id }) => !ids.has(id) && ids.add(id));
  if (added.length === 0) return known;
  return [...added, ...known].sort(newestFirst).slice(0, rowsMax);
}

function newestFirst(one: LogRow, other: LogRow): number {
  return one.ended_at === other.ended_at
    ? compare(other.id, one.id)
    : compare(other.ended_at, one.ended_at);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
