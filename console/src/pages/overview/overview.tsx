/** The first page: counts of the last day, what needs attention, and the last changes. */
import { useMemo } from 'preact/hooks';
import type { BodyOf } from '../../api/client.ts';
import { useReply } from '../../api/use-reply.ts';
import { CostPlot, RequestsPlot } from '../../parts/figure-plots.tsx';
import { Page, Section, Show } from '../../parts/page.tsx';
import { formatDollars, formatDuration, formatShort } from '../../parts/text.tsx';
import { Attention } from './attention.tsx';

type Graph = BodyOf<'/v1/analytics/graph'>;

const dayMs = 86_400_000;
const refreshMs = 30_000;

/** The last day, to whole hours, so that the reply can be cached. */
function lastDay() {
  const hourMs = 3_600_000;
  const end = Math.ceil(Date.now() / hourMs) * hourMs;
  return {
    time_of_generation_min: new Date(end - dayMs).toISOString(),
    time_of_generation_max: new Date(end).toISOString(),
  };
}

export default function Overview() {
  const query = useMemo(lastDay, []);
  const graph = useReply('/v1/analytics/graph', { query, everyMs: refreshMs });
  return (
    <Page title="Overview" about="The last 24 hours.">
      <Show loaded={graph}>
        {(body) => (
          <>
            <Counts graph={body} />
            <Attention />
            <Section title="Traffic">
              <Traffic graph={body} />
            </Section>
          </>
        )}
      </Show>
    </Page>
  );
}

/** Name, value, and the page that explains it. */
type Count = readonly [name: string, value: string, href: string | null];

const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);

function Counts({ graph: { data } }: { readonly graph: Graph }) {
  const requests = sum(data.map((point) => point.requests));
  const errors = sum(data.map((point) => point.errors));
  const slowest = data.map((point) => point.duration_ms_p99 ?? 0);
  const share = requests === 0 ? '0 %' : `${((errors / requests) * 100).toFixed(1)} %`;
  const counts: readonly Count[] = [
    ['Requests', formatShort(requests), '#/logs'],
    ['Errors', `${formatShort(errors)} (${share})`, '#/usage?by=model&sort=error_count'],
    ['Cost', formatDollars(sum(data.map((point) => point.cost))), '#/usage'],
    ['Tool calls', formatShort(sum(data.map((point) => point.mcp_count))), '#/logs?type=mcp'],
    [
      'Denied by guardrails',
      formatShort(sum(data.map((point) => point.guardrail_denied))),
      '#/logs?verdict=denied',
    ],
    ['Slowest p99 of an hour', formatDuration(requests === 0 ? null : Math.max(...slowest)), null],
  ];
  return (
    <dl class="counts">
      {counts.map(([name, value, href]) => (
        <div key={name}>
          <dt>{href === null ? name : <a href={href}>{name}</a>}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Traffic({ graph: { data } }: { readonly graph: Graph }) {
  return (
    <div class="plots">
      <RequestsPlot data={data} />
      <CostPlot data={data} />
    </div>
  );
}
