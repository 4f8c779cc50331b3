/** Follows the log: asks every two seconds for requests that ended since the newest one. */
import { useEffect, useState } from 'preact/hooks';
import { type Query, RequestFailed, read, workspace } from '../../api/client.ts';
import type { LogRow } from './log-row.ts';

const everyMs = 2000;
const afterFailureMsMax = 30_000;
/** Replicas write their rows about a second after the end, so rows appear out of order. */
const overlapMs = 5000;
const pageSize = 50;
const rowsMax = 500;

export interface Tail {
  /** Newest first. */
  readonly rows: readonly LogRow[];
  /** Whether more requests ended between two replies than a reply holds. */
  readonly hasGap: boolean;
  readonly error: RequestFailed | null;
}

const empty: Tail = { rows: [], hasGap: false, error: null };

/** Starts anew when the filter changes; asks nothing while the tab is hidden. */
export function useTail(filter: Query): Tail {
  const [tail, setTail] = useState(empty);
  const key = JSON.stringify([filter, workspace.value]);
  useEffect(() => {
    setTail(empty);
    let isCurrent = true;
    let timer: ReturnType<typeof setTimeout>;
    let known = empty;
    let failures = 0;
    const ask = async (): Promise<void> => {
      if (document.visibilityState === 'visible') {
        const next = await follow(known, filter);
        if (!isCurrent) return;
        failures = next.error === null ? 0 : failures + 1;
        known = next;
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

async function follow(known: Tail, filter: Query): Promise<Tail> {
  const newest = known.rows[0]?.ended_at;
  const since =
    newest === undefined
      ? filter
      : {
          ...filter,
          time_of_generation_min: new Date(Date.parse(newest) - overlapMs).toISOString(),
        };
  try {
    const { data, next_cursor } = await read('/v1/logs', { ...since, page_size: pageSize });
    return { ...merge(known, data, next_cursor !== null), error: null };
  } catch (error) {
    const failure = error instanceof RequestFailed ? error : new RequestFailed(0, String(error));
    return { ...known, error: failure };
  }
}

function merge(known: Tail, page: readonly LogRow[], hasMore: boolean): Omit<Tail, 'error'> {
  const ids = new Set(known.rows.map(({ id }) => id));
  const added = page.filter(({ id }) => !ids.has(id));
  const isJoined = known.rows.length === 0 || added.length < page.length;
  const hasGap = known.hasGap || (hasMore && !isJoined);
  if (added.length === 0) return { ...known, hasGap };
  const rows = [...added, ...known.rows].sort((one, other) =>
    one.ended_at === other.ended_at
      ? compare(other.id, one.id)
      : compare(other.ended_at, one.ended_at),
  );
  return { rows: rows.slice(0, rowsMax), hasGap };
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
