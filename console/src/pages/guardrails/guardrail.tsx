/** Shows one guardrail: verdicts over time, its checks and actions in words, and where it applies. */
import { useReply } from '../../api/use-reply.ts';
import { Json } from '../../parts/code.tsx';
import { Filters } from '../../parts/fields.tsx';
import { Facts, Page, Section, Show } from '../../parts/page.tsx';
import { Table } from '../../parts/table.tsx';
import { Ago, formatCount, NamedState } from '../../parts/text.tsx';
import { TimeRangeFields, useTimeRange } from '../../parts/time-range.tsx';
import { queryOf } from '../../routing/routes.ts';
import type { PageParts } from '../pages.ts';
import { Applies } from './applies.tsx';
import { GuardrailTrial } from './guardrail-trial.tsx';
import { actionsInWords, type Check, parametersInWords } from './in-words.ts';
import { VerdictPlot } from './verdict-plot.tsx';

const usualRange = '7d';

export default function Guardrail({ parts }: { readonly parts: PageParts }) {
  const id = parts.id!;
  const guardrail = useReply('/v1/guardrails/{guardrailId}', { parts: { guardrailId: id } });
  const range = queryOf().get('range') ?? usualRange;
  return (
    <Page
      title={guardrail.body?.name ?? 'Guardrail'}
      about={<code>{guardrail.body?.slug ?? id}</code>}
      actions={
        <a
          class="button"
          href={`#/logs?guardrail=${encodeURIComponent(id)}&verdict=denied&range=${encodeURIComponent(range)}`}
        >
          Denied requests
        </a>
      }
    >
      <Show loaded={guardrail}>
        {(body) => (
          <>
            <Section title="Verdicts">
              <Verdicts id={body.id} />
            </Section>
            <Section title="Checks">
              <Checks checks={body.checks} />
            </Section>
            <Section title="Actions">
              <ul>
                {actionsInWords(body).map((sentence) => (
                  <li key={sentence}>{sentence}</li>
                ))}
              </ul>
            </Section>
            <GuardrailTrial id={body.id} />
            <Applies guardrail={body} />
            <Section title="Record">
              <Facts
                facts={[
                  ['State', <NamedState key="state" name={body.status} />],
                  ['Guards', body.target === 'llm' ? 'model requests' : 'MCP tools'],
                  ['Workspace', body.workspace_id ?? 'the organisation'],
                  ['Created', <Ago key="created" at={body.created_at} />],
                  ['Changed', <Ago key="changed" at={body.last_updated_at} />],
                ]}
              />
              <Json label="As the API returns it" value={body} />
            </Section>
          </>
        )}
      </Show>
    </Page>
  );
}

function Verdicts({ id }: { readonly id: string }) {
  const range = useTimeRange(usualRange);
  const graph = useReply('/v1/analytics/graph', { query: { ...range, guardrails: id } });
  return (
    <>
      <Filters>
        <TimeRangeFields usual={usualRange} />
      </Filters>
      <Show loaded={graph}>
        {(body) => {
          const sum = (figure: 'passed' | 'monitored' | 'failed' | 'denied'): number =>
            body.data.reduce((total, point) => total + point[`guardrail_${figure}`], 0);
          return (
            <>
              <Facts
                facts={[
                  ['Passed', formatCount(sum('passed'))],
                  ['Failed, only observed', formatCount(sum('monitored'))],
                  ['Failed, but let through', formatCount(sum('failed'))],
                  ['Denied', formatCount(sum('denied'))],
                ]}
              />
              <VerdictPlot graph={body} />
            </>
          );
        }}
      </Show>
    </>
  );
}

/** Names of checks come from the catalogue of the API. */
function Checks({ checks }: { readonly checks: readonly Check[] }) {
  const { body } = useReply('/v1/utils/static-resources/schema', {
    query: { resource: 'guardrails' },
  });
  const kinds = new Map((body?.evals ?? []).map((kind) => [kind.id, kind]));
  return (
    <Table
      caption="Checks"
      rows={checks.map((check, index) => ({ check, index }))}
      keyOf={({ index }) => String(index)}
      empty="This guardrail has no checks."
      columns={[
        {
          name: 'Check',
          cell: ({ check }) => (
            <>
              {kinds.get(check.id)?.name ?? check.id}
              {check.name !== undefined && <span class="quiet"> ({check.name})</span>}
            </>
          ),
        },
        {
          name: 'Passes when',
          cell: ({ check }) =>
            kinds
              .get(check.id)
              ?.description.map(({ text }) => text)
              .join(' '),
        },
        {
          name: 'Parameters',
          cell: ({ check }) => (
            <ul class="plain">
              {parametersInWords(check).map((phrase) => (
                <li key={phrase}>{phrase}</li>
              ))}
            </ul>
          ),
        },
        { name: 'Runs', cell: ({ check }) => (check.is_enabled === false ? 'no' : 'yes') },
      ]}
    />
  );
}
