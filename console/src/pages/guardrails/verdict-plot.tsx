/** Draws verdicts of guardrails over time. */
import type { BodyOf } from '../../api/client.ts';
import { Plot } from '../../parts/plot.tsx';
import { formatShort } from '../../parts/text.tsx';

type Graph = BodyOf<'/v1/analytics/graph'>;

export function VerdictPlot({ graph: { data } }: { readonly graph: Graph }) {
  return (
    <Plot
      title="Verdicts"
      times={data.map((point) => point.timestamp)}
      format={formatShort}
      series={[
        { name: 'Passed', values: data.map((point) => point.guardrail_passed), colour: '--good' },
        {
          name: 'Failed, but let through',
          values: data.map((point) => point.guardrail_failed),
          colour: '--warning',
        },
        { name: 'Denied', values: data.map((point) => point.guardrail_denied), colour: '--bad' },
      ]}
    />
  );
}
