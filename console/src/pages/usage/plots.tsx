/** Draws requests, cost, tokens, latency and cache hits over time. */
import type { BodyOf } from '../../api/client.ts';
import { CostPlot, RequestsPlot } from '../../parts/figure-plots.tsx';
import { Plot } from '../../parts/plot.tsx';
import { formatDollars, formatDuration, formatShort } from '../../parts/text.tsx';

type Graph = BodyOf<'/v1/analytics/graph'>;
type Point = Graph['data'][number];

export function UsagePlots({ graph: { data } }: { readonly graph: Graph }) {
  const times = data.map((point) => point.timestamp);
  const values = (figureOf: (point: Point) => number | null) => data.map(figureOf);
  return (
    <div class="plots">
      <RequestsPlot data={data} />
      <CostPlot data={data} />
      <Plot
        title="Tokens"
        times={times}
        format={formatShort}
        series={[
          { name: 'Input', values: values((point) => point.input_tokens), colour: '--accent' },
          { name: 'Output', values: values((point) => point.output_tokens), colour: '--good' },
        ]}
      />
      <Plot
        title="Latency"
        times={times}
        format={formatDuration}
        series={[
          { name: 'p50', values: values((point) => point.duration_ms_p50), colour: '--good' },
          { name: 'p90', values: values((point) => point.duration_ms_p90), colour: '--warning' },
          { name: 'p99', values: values((point) => point.duration_ms_p99), colour: '--bad' },
        ]}
      />
      <Plot
        title="Cache hits"
        times={times}
        format={formatShort}
        series={[{ name: 'Hits', values: values((point) => point.cache_hits), colour: '--accent' }]}
      />
    </div>
  );
}

export function Totals({ graph: { data } }: { readonly graph: Graph }) {
  const sum = (figureOf: (point: Point) => number): number =>
    data.reduce((total, point) => total + figureOf(point), 0);
  const requests = sum((point) => point.requests);
  const errors = sum((point) => point.errors);
  const unlogged = sum((point) => point.unlogged_requests);
  const share = requests === 0 ? '' : ` (${((errors / requests) * 100).toFixed(1)} %)`;
  const totals = [
    ['Cost', formatDollars(sum((point) => point.cost))],
    ['Requests', formatShort(requests)],
    ['Errors', `${formatShort(errors)}${share}`],
    ['Input tokens', formatShort(sum((point) => point.input_tokens))],
    ['Output tokens', formatShort(sum((point) => point.output_tokens))],
    ['Cache hits', formatShort(sum((point) => point.cache_hits))],
    ...(unlogged === 0 ? [] : [['Answered, but not logged', formatShort(unlogged)] as const]),
  ] as const;
  return (
    <dl class="counts">
      {totals.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
