/** Draws requests and cost of a graph over time. */
import type { BodyOf } from '../api/client.ts';
import { Plot } from './plot.tsx';
import { formatDollars, formatShort } from './text.tsx';

interface FigureProps {
  readonly data: BodyOf<'/v1/analytics/graph'>['data'];
}

export function RequestsPlot({ data }: FigureProps) {
  return (
    <Plot
      title="Requests"
      times={data.map((point) => point.timestamp)}
      format={formatShort}
      series={[
        { name: 'All', values: data.map((point) => point.requests), colour: '--accent' },
        { name: 'Errors', values: data.map((point) => point.errors), colour: '--bad' },
      ]}
    />
  );
}

export function CostPlot({ data }: FigureProps) {
  return (
    <Plot
      title="Cost"
      times={data.map((point) => point.timestamp)}
      format={formatDollars}
      series={[{ name: 'Cost', values: data.map((point) => point.cost), colour: '--accent' }]}
    />
  );
}
