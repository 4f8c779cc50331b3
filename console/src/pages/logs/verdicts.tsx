/** Shows which guardrails judged a request, and how. */
import { useReply } from '../../api/use-reply.ts';
import { Section } from '../../parts/page.tsx';
import { Table } from '../../parts/table.tsx';
import { formatDuration, NamedState } from '../../parts/text.tsx';
import type { LogRow } from './log-row.ts';

const namesMax = 50;
const explanations: Readonly<Record<string, string>> = {
  passed: 'All checks passed.',
  monitored: 'A check failed, and the guardrail only observes.',
  failed: 'A check failed, and the guardrail lets such requests through.',
  denied: 'A check failed, and the guardrail rejected the request or its response.',
};

export function Verdicts({ row }: { readonly row: LogRow }) {
  const verdicts = Object.entries(row.guardrails);
  const isOn = verdicts.length > 0;
  const { body } = useReply('/v1/guardrails', { query: { page_size: namesMax }, isOn });
  const names = new Map((body?.data ?? []).map(({ id, name }) => [id, name]));
  if (row.guardrail_verdict === null) return null;
  return (
    <Section title="Guardrails">
      <p>
        <NamedState name={row.guardrail_verdict} /> {explanations[row.guardrail_verdict]}
      </p>
      <Table
        caption="Verdicts of guardrails"
        rows={verdicts}
        keyOf={([id]) => id}
        empty="No saved guardrail judged this request; one that is written in a config did."
        columns={[
          {
            name: 'Guardrail',
            cell: ([id]) => <a href={`#/guardrails/${id}`}>{names.get(id) ?? id}</a>,
          },
          { name: 'Verdict', cell: ([, verdict]) => <NamedState name={verdict} /> },
        ]}
      />
      <Checks row={row} names={names} />
    </Section>
  );
}

function Checks({
  row,
  names,
}: {
  readonly row: LogRow;
  readonly names: ReadonlyMap<string, string>;
}) {
  if (row.guardrail_checks.length === 0) return null;
  return (
    <Table
      caption="Verdicts of checks"
      rows={row.guardrail_checks}
      keyOf={({ guardrail, check, side }) => `${guardrail} ${check} ${side}`}
      empty=""
      columns={[
        { name: 'Check', cell: ({ check }) => <code>{check}</code> },
        { name: 'Guardrail', cell: ({ guardrail }) => names.get(guardrail) ?? guardrail },
        { name: 'Judged', cell: ({ side }) => (side === 'input' ? 'request' : 'response') },
        { name: 'Verdict', cell: ({ verdict }) => <NamedState name={verdict} /> },
        { name: 'Only observes', cell: (check) => (check.is_monitored ? 'yes' : 'no') },
        { name: 'Took', isNumber: true, cell: (check) => formatDuration(check.duration_ms) },
      ]}
    />
  );
}
