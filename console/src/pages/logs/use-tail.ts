/** Follows the log: asks every two seconds which times have new rows, and reads these. */
import { useEffect, useState } from 'preact/hooks';
import { type Query, RequestFailed, read, workspace } from '../../api/client.ts';
import type { LogRow } from './log-row.ts';
import { KnownBatches, rowsMax, spansOf, type TimeSpan, withRows } from './tail.ts';

const everyMs = 2000;
const afterFailureMsMax = 30_000;
const pageSize = 100;
/** Requests of one round, which read 1,000 rows a second. */
const pagesMax = 20;

export interface Tail {
  /** Newest first. */
  readonly rows: readonly LogRow[];
  /** Whether more requests ended than a round reads; the next rounds read the others. */
  readonly isBehind: boolean;
  /** Until the first round has ended. */
  readonly isLoading: boolean;
  readonly error: RequestFailed | null;
}

const empty: Tail = { rows: [], isBehind: false, isLoading: true, error: null };

/** Starts anew when the filter changes; asks nothing while the tab is hidden. */
export function useTail(filter: Query): Tail {
  const [tail, setTail] = useState(empty);
  const key = JSON.stringify([filter, workspace.value]);
  useEffect(() => {
    setTail(empty);
    const follower = new Follower(filter);
    let isCurrent = true;
    let timer: ReturnType<typeof setTimeout>;
    let failures = 0;
    const ask = async (): Promise<void> => {
      if (document.visibilityState === 'visible') {
        const next = await follower.next();
        if (!isCurrent) return;
        failures = next.error === null ? 0 : failures + 1;
        setTail(next);
      }
      timer = setTimeout(ask, Math.min(afterFailureMsMax, everyMs * 2 ** failures));
    };
    void ask();
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [key]);
  return tail;
}

interface UnreadSpan extends TimeSpan {
  /** Where reading goes on; undefined at the newest row. */
  readonly cursor?: string;
}

/** Holds the rows of one tail. The next round goes on where one has failed or ended. */
class Follower {
  readonly #filter: Query;
  #batches = new KnownBatches();
  #tail = empty;
  /** Times whose rows have not been read yet, those of the newest batches first. */
  #unread: UnreadSpan[] = [];
  #hasStarted = false;

  constructor(filter: Query) {
    this.#filter = filter;
  }

  async next(): Promise<Tail> {
    try {
      await this.#listBatches();
      if (!this.#hasStarted) await this.#start();
      await this.#readSpans();
      this.#tail = { ...this.#tail, isLoading: false, error: null };
    } catch (error) {
      const failure = error instanceof RequestFailed ? error : new RequestFailed(0, String(error));
      this.#tail = { ...this.#tail, isLoading: false, error: failure };
    }
    return this.#tail;
  }

  /** Before any row is read, so that rows which are stored meanwhile belong to a batch of the next round. */
  async #listBatches(): Promise<void> {
    const { since } = this.#batches;
    const { data, has_more: hasMore } = await read('/v1/logs/batches', { since });
    const added = this.#batches.note(data);
    if (hasMore) {
      // The tab was hidden or the server away for long: the tail begins anew.
      this.#batches = new KnownBatches();
      this.#hasStarted = false;
      this.#unread = [];
      this.#tail = empty;
      return;
    }
    if (this.#hasStarted) this.#unread.unshift(...spansOf(added, this.#oldest));
  }

  async #start(): Promise<void> {
    const { data } = await read('/v1/logs', { ...this.#filter, page_size: pageSize });
    this.#add(data);
    this.#hasStarted = true;
  }

  /** Reads up to `pagesMax` pages, the newest first. Requests older than all rows have no place among them. */
  async #readSpans(): Promise<void> {
    for (let pages = 0; pages < pagesMax; pages += 1) {
      this.#unread = this.#unread.filter(({ to }) => to >= this.#oldest);
      const [span, ...others] = this.#unread;
      if (span === undefined) break;
      const { data, next_cursor: cursor } = await read('/v1/logs', this.#queryOf(span));
      this.#add(data);
      this.#unread =
        cursor === null
          ? others
          : [{ ...span, to: Date.parse(data.at(-1)!.ended_at), cursor }, ...others];
    }
    this.#tail = { ...this.#tail, isBehind: this.#unread.length > 0 };
  }

  #queryOf({ from, to, cursor }: UnreadSpan): Query {
    return {
      ...this.#filter,
      time_of_generation_min: new Date(from).toISOString(),
      time_of_generation_max: new Date(to).toISOString(),
      page_size: pageSize,
      cursor,
    };
  }

  #add(page: readonly LogRow[]): void {
    this.#tail = { ...this.#tail, rows: withRows(this.#tail.rows, page) };
  }

  /** Time of the oldest request that has a place among the rows. */
  get #oldest(): number {
    const { rows } = this.#tail;
    const from = this.#filter.time_of_generation_min;
    const ofFilter = typeof from === 'string' ? Date.parse(from) : 0;
    return rows.length < rowsMax ? ofFilter : Math.max(ofFilter, Date.parse(rows.at(-1)!.ended_at));
  }
}
