/** Lists the guardrails with their verdicts of the last day. */
import { useState } from 'preact/hooks';
import type { BodyOf, RowOf } from '../../api/client.ts';
import { useReply } from '../../api/use-reply.ts';
import { Page, Problem, Section, Show } from '../../parts/page.tsx';
import { NumberedPages, Table } from '../../parts/table.tsx';
import { Ago, formatCount, NamedState } from '../../parts/text.tsx';
import { useTimeRange } from '../../parts/time-range.tsx';
import { VerdictPlot } from './verdict-plot.tsx';

const pageSize = 50;
/** A request counts for each guardrail that judged it, so groups may be more than were asked for. */
const groupsMax = 100;

type Guardrail = RowOf<'/v1/guardrails'>;
type Groups = Extract<BodyOf<'/v1/analytics/groups/{group}'>, { total: number }>;

export default function Guardrails() {
  const [page, setPage] = useState(0);
  const range = useTimeRange('24h');
  const guardrails = useReply('/v1/guardrails', {
    query: { page_size: pageSize, current_page: page },
  });
  const graph = useReply('/v1/analytics/graph', { query: { ...range } });
  return (
    <Page
      title="Guardrails"
      about="Checks on requests, responses and tool calls. Counts are of the last 24 hours."
      actions={
        <a class="button" href="#/logs?verdict=denied">
          Denied requests
        </a>
      }
    >
      <Show loaded={guardrails}>
        {({ data, total }) => (
          <>
            <GuardrailTable guardrails={data} range={{ ...range }} />
            <NumberedPages page={page} pageSize={pageSize} total={total} onPage={setPage} />
          </>
        )}
      </Show>
      <Section
        title="Verdicts over time"
        about="Each request counts once, by its worst verdict; guardrails inside configs count too."
      >
        <Show loaded={graph}>{(body) => <VerdictPlot graph={body} />}</Show>
      </Section>
    </Page>
  );
}

interface GuardrailTableProps {
  readonly guardrails: readonly Guardrail[];
  readonly range: Readonly<Record<string, string>>;
}

function GuardrailTable({ guardrails, range }: GuardrailTableProps) {
  const ids = guardrails.map(({ id }) => id);
  const groups = useReply('/v1/analytics/groups/{group}', {
    query: { ...range, guardrails: ids.join(','), page_size: groupsMax },
    parts: { group: 'guardrail' },
    isOn: ids.length > 0,
  });
  const rows = (groups.body as Groups | null)?.data ?? [];
  const verdictsById = new Map(rows.map((row) => [String(row.guardrail), row]));
  const isKnown = groups.body !== null;
  const count = (id: string, figure: string): string =>
    isKnown ? formatCount(Number(verdictsById.get(id)?.[figure] ?? 0)) : '–';
  return (
    <>
      {groups.error !== null && <Problem error={groups.error} onRetry={groups.reload} />}
      <Table
        caption="Guardrails with their verdicts of the last 24 hours"
        rows={guardrails}
        keyOf={({ id }) => id}
        empty="There is no guardrail in this workspace."
        columns={[
          { name: 'Name', cell: ({ id, name }) => <a href={`#/guardrails/${id}`}>{name}</a> },
          { name: 'Guards', cell: ({ target }) => targets[target] },
          {
            name: 'Defined in',
            cell: ({ workspace_id: place }) => (place === null ? 'organisation' : 'workspace'),
          },
          { name: 'Passed', isNumber: true, cell: ({ id }) => count(id, 'guardrail_passed') },
          { name: 'Observed', isNumber: true, cell: ({ id }) => count(id, 'guardrail_monitored') },
          { name: 'Let through', isNumber: true, cell: ({ id }) => count(id, 'guardrail_failed') },
          { name: 'Denied', isNumber: true, cell: ({ id }) => count(id, 'guardrail_denied') },
          { name: 'State', cell: ({ status }) => <NamedState name={status} /> },
          { name: 'Changed', cell: (row) => <Ago at={row.last_updated_at} /> },
        ]}
      />
    </>
  );
}

const targets: Readonly<Record<Guardrail['target'], string>> = {
  llm: 'model requests',
  mcp_tools: 'MCP tools',
};
