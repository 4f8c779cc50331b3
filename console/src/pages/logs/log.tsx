/** Shows one request: its parts over time, attempts, guardrails, usage, metadata, and how to repeat it. */
import { useReply } from '../../api/use-reply.ts';
import { Code, Json } from '../../parts/code.tsx';
import { Facts, Page, Section, Show } from '../../parts/page.tsx';
import { Table } from '../../parts/table.tsx';
import { At, formatCount, formatDollars, formatDuration, StatusCode } from '../../parts/text.tsx';
import type { PageParts } from '../pages.ts';
import { curlOf } from './curl.ts';
import { calledName, type LogRow } from './log-row.ts';
import { Verdicts } from './verdicts.tsx';
import { Waterfall } from './waterfall.tsx';

export default function Log({ parts }: { readonly parts: PageParts }) {
  const log = useReply('/v1/logs/{logId}', { parts: { logId: parts.id! } });
  return (
    <Page title="Request" about={<code>{parts.id}</code>}>
      <Show loaded={log}>
        {(row) => (
          <>
            {/* The reason comes first where a guardrail is the reason. */}
            {isDenied(row) && <Verdicts row={row} />}
            <Outcome row={row} />
            {!isDenied(row) && <Verdicts row={row} />}
            <Section title="Time" about={timeNote(row)}>
              <Waterfall row={row} />
            </Section>
            <Attempts row={row} />
            <Usage row={row} />
            <Details row={row} />
          </>
        )}
      </Show>
    </Page>
  );
}

const dash = '–';

const isDenied = ({ guardrail_verdict: verdict }: LogRow): boolean => verdict === 'denied';

function Outcome({ row }: { readonly row: LogRow }) {
  const { api_key_id: keyId, api_key_name: keyName, error_code: code, config_id: config } = row;
  return (
    <Section title={calledName(row)}>
      <Facts
        facts={[
          ['Status', <StatusCode key="status" status={row.status} />],
          ['Error', code === null ? dash : <code>{code}</code>],
          ['Started', <At key="at" at={row.created_at} />],
          ['Took', formatDuration(row.duration_ms)],
          ['Key', keyId === null ? dash : <a href={`#/keys/${keyId}`}>{keyName ?? keyId}</a>],
          ['Workspace', row.workspace_slug ?? dash],
          ['Config', config === null ? dash : <a href={`#/configs/${config}`}>{config}</a>],
          ['Endpoint', row.endpoint],
          ['Provider', row.provider ?? dash],
          ['Requested model', row.requested_model ?? dash],
          ['Model sent', row.model ?? dash],
          [
            'Model in the response',
            row.answered_model ?? (Number(row.status) < 400 ? 'the same' : dash),
          ],
          ['Cache', row.cache_status?.toLowerCase() ?? dash],
          ['Streamed', row.is_stream ? 'yes' : 'no'],
          ['Trace', <TraceLink key="trace" id={row.trace_id} />],
          ['Reported by the caller', row.is_reported ? 'yes: the gateway did not handle it' : 'no'],
        ]}
      />
    </Section>
  );
}

function TraceLink({ id }: { readonly id: string }) {
  return <a href={`#/logs?trace=${encodeURIComponent(id)}`}>{id}</a>;
}

function timeNote({ first_byte_ms: firstByte }: LogRow): string {
  return firstByte === null
    ? 'The log has no time of a first byte for this request.'
    : 'The log times everything before the first byte as one part; traces have each provider call.';
}

interface Attempt {
  readonly number: number;
  readonly provider: string | null;
  readonly model: string | null;
  readonly target: string | null;
  readonly status: number;
  readonly tokens: number;
  readonly cost: number | null;
}

/** A request that guardrails deny is not sent; one whose response they deny is charged. */
function isDeniedUnsent(row: LogRow): boolean {
  const tokens = (row.input_tokens ?? 0) + (row.output_tokens ?? 0);
  return row.guardrail_verdict === 'denied' && tokens === 0 && row.earlier_attempts.length === 0;
}

/** Attempts that were charged, and the last one. Others left no record but their number. */
function Attempts({ row }: { readonly row: LogRow }) {
  if (row.mcp_server !== null) return null;
  if (isDeniedUnsent(row)) {
    const about = 'Guardrails denied the request, so it was not sent to a provider.';
    return (
      <Section title="Provider attempts" about={about}>
        {null}
      </Section>
    );
  }
  const charged = row.earlier_attempts.map((attempt) => ({
    ...attempt,
    target: attempt.target_path,
  }));
  const attempts: Attempt[] = [...charged, { ...row, target: row.target_path }].map(
    (one, index) => ({
      ...one,
      number: index + 1,
      tokens: (one.input_tokens ?? 0) + (one.output_tokens ?? 0),
    }),
  );
  const selection = row.target_selection === null ? '' : ` Selected by: ${row.target_selection}.`;
  const about = `${retriesText(row.retries)}${selection} Earlier attempts are listed if they were charged.`;
  return (
    <Section title="Provider attempts" about={about}>
      <Table
        caption="Provider attempts"
        rows={attempts}
        keyOf={({ number }) => String(number)}
        empty=""
        columns={[
          { name: 'Attempt', cell: ({ number }) => number },
          { name: 'Target', cell: ({ target }) => <code>{target ?? dash}</code> },
          { name: 'Provider', cell: ({ provider }) => provider ?? dash },
          { name: 'Model', cell: ({ model }) => model ?? dash },
          { name: 'Status', cell: ({ status }) => <StatusCode status={status} /> },
          { name: 'Tokens', isNumber: true, cell: ({ tokens }) => formatCount(tokens) },
          {
            name: 'Cost',
            isNumber: true,
            cell: ({ cost }) => (cost === null ? dash : formatDollars(cost)),
          },
        ]}
      />
    </Section>
  );
}

/** The API counts -1 when all retries were used up. */
function retriesText(retries: number): string {
  if (retries < 0) return 'All retries were used up.';
  return retries === 1 ? '1 retry.' : `${retries} retries.`;
}

const priceSources: Readonly<Record<string, string>> = {
  table: 'the price table',
  integration: 'the price table with factors of the integration',
  model: 'prices of the model in the integration',
};

function Usage({ row }: { readonly row: LogRow }) {
  const count = (value: number | null): string => (value === null ? dash : formatCount(value));
  const source = row.price_source === null ? null : priceSources[row.price_source];
  return (
    <Section title="Usage and price">
      <Facts
        facts={[
          ['Input tokens', count(row.input_tokens)],
          ['Output tokens', count(row.output_tokens)],
          ['Input read from the cache', count(row.cached_input_tokens)],
          ['Input written to the cache', count(row.cache_write_tokens)],
          ['Counted by', row.is_estimated ? 'the gateway (an estimate)' : 'the provider'],
          ['Cost', row.cost === null ? 'unknown' : formatDollars(row.cost)],
          ['Price from', source ?? 'no price: unknown, or nothing was charged'],
          ['Price version', row.price_version ?? dash],
        ]}
      />
    </Section>
  );
}

function Details({ row }: { readonly row: LogRow }) {
  const curl = curlOf(row);
  return (
    <>
      {row.dropped_members.length > 0 && (
        <Section
          title="Left out"
          about="Members of the request that the provider did not receive, because its format lacks them."
        >
          <p>
            <code>{row.dropped_members.join(', ')}</code>
          </p>
        </Section>
      )}
      <Section title="Metadata">
        <Json label="Metadata of the request" value={row.metadata} />
        {row.feedback.length > 0 && <Json label="Feedback on the trace" value={row.feedback} />}
      </Section>
      {curl !== null && (
        <Section
          title="Send it again"
          about="The log keeps no bodies and no credentials: put your text in place of TEXT, and set GATEWAY_URL and GATEWAY_KEY."
        >
          <Code label="curl" text={curl} />
        </Section>
      )}
      <Section title="Log entry">
        <Json label="As the API returns it" value={row} />
      </Section>
    </>
  );
}
