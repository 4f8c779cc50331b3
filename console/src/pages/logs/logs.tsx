/** Lists model requests and MCP calls, page by page or live. */
import { useEffect, useState } from 'preact/hooks';
import type { Query } from '../../api/client.ts';
import { useReply } from '../../api/use-reply.ts';
import { Page, Problem, Show } from '../../parts/page.tsx';
import { CursorPages, Pages } from '../../parts/table.tsx';
import { useTimeRange } from '../../parts/time-range.tsx';
import { changeQuery, queryOf } from '../../routing/routes.ts';
import { filterOfPage, LogFilters } from './log-filters.tsx';
import type { LogRow } from './log-row.ts';
import { LogTable } from './log-table.tsx';
import { useTail } from './use-tail.ts';

const pageSize = 50;
const tailPageSize = 100;

export default function Logs() {
  const [round, setRound] = useState(0);
  const [rows, setRows] = useState<readonly LogRow[]>([]);
  const isLive = queryOf().has('live');
  const range = useTimeRange('24h', round);
  const filter: Query = { ...range, ...filterOfPage() };
  const keyId = queryOf().get('key');
  const keyName = rows.find(({ api_key_id: id }) => id === keyId)?.api_key_name ?? undefined;
  return (
    <Page
      title="Logs"
      about="Each request to a model and each call of an MCP server, about a second after its end."
      actions={
        <>
          <label class="switch">
            <input
              type="checkbox"
              role="switch"
              aria-checked={isLive}
              checked={isLive}
              onChange={() => changeQuery({ live: isLive ? '' : '1' })}
            />
            Live
          </label>
          {!isLive && (
            <button type="button" onClick={() => setRound((old) => old + 1)}>
              Reload
            </button>
          )}
        </>
      }
    >
      <LogFilters keyName={keyName} />
      {isLive ? (
        <LiveLog filter={{ ...filter, time_of_generation_max: undefined }} onRows={setRows} />
      ) : (
        <PagedLog key={JSON.stringify(filter)} filter={filter} onRows={setRows} />
      )}
    </Page>
  );
}

interface LogProps {
  readonly filter: Query;
  /** Receives the rows that are on screen. */
  readonly onRows: (rows: readonly LogRow[]) => void;
}

/** Starts at the newest page for each filter. */
function PagedLog({ filter, onRows }: LogProps) {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const logs = useReply('/v1/logs', {
    query: { ...filter, page_size: pageSize, cursor: cursors.at(-1) },
  });
  useEffect(() => {
    if (logs.body !== null) onRows(logs.body.data);
  }, [logs.body]);
  return (
    <Show loaded={logs}>
      {({ data, next_cursor: next }) => (
        <>
          <LogTable rows={data} />
          <CursorPages cursors={cursors} next={next} onCursors={setCursors} />
        </>
      )}
    </Show>
  );
}

function LiveLog({ filter, onRows }: LogProps) {
  const { rows, isBehind, isLoading, error } = useTail(filter);
  const [page, setPage] = useState(0);
  /** The rows while an older page is read, so that new ones do not move them. */
  const [still, setStill] = useState<readonly LogRow[] | null>(null);
  const all = still ?? rows;
  const listed = all.slice(page * tailPageSize, (page + 1) * tailPageSize);
  const turnTo = (next: number): void => {
    setStill(next === 0 ? null : all);
    setPage(next);
  };
  useEffect(() => turnTo(0), [JSON.stringify(filter)]);
  useEffect(() => onRows(listed), [rows, page]);
  return (
    <>
      {error !== null && <Problem error={error} />}
      <p class="quiet">
        {still === null
          ? 'New requests appear every two seconds while this tab is visible; the newest 5,000 stay.'
          : 'This page stands still while you read it; page 1 goes on with the newest requests.'}
        {isBehind && (
          <strong> More requests end than are read at once; the others follow. Add filters.</strong>
        )}
      </p>
      {isLoading ? <p class="quiet loading">Loading…</p> : <LogTable rows={listed} />}
      <Pages
        page={page}
        hasMore={(page + 1) * tailPageSize < all.length}
        total={all.length}
        onPage={turnTo}
      />
    </>
  );
}
