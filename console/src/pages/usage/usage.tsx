/** Shows usage over time and by any property: who or what spends how much. */
import type { Query } from '../../api/client.ts';
import { useReply } from '../../api/use-reply.ts';
import { ChoiceField, Filters } from '../../parts/fields.tsx';
import { KeyField } from '../../parts/key-field.tsx';
import { Page, Section, Show } from '../../parts/page.tsx';
import { QueryText } from '../../parts/query-fields.tsx';
import { At } from '../../parts/text.tsx';
import { TimeRangeFields, useTimeRange } from '../../parts/time-range.tsx';
import { changeQuery, queryOf } from '../../routing/routes.ts';
import { dimensionOf, dimensions } from './dimensions.ts';
import { UsageGroups } from './groups.tsx';
import { useKeyName } from './names.ts';
import { Totals, UsagePlots } from './plots.tsx';

const usualRange = 'yesterday';
const hourlyMsMax = 7 * 86_400_000;

export default function Usage() {
  const page = queryOf();
  const range = useTimeRange(usualRange);
  const keyName = useKeyName();
  const filter: Query = {
    ...range,
    api_key_id: page.get('key') ?? undefined,
    provider: page.get('provider') ?? undefined,
    model: page.get('model') ?? undefined,
  };
  const { time_of_generation_min: from, time_of_generation_max: to } = range;
  const lengthMs = (to === undefined ? Date.now() : Date.parse(to)) - Date.parse(from);
  const interval = lengthMs > hourlyMsMax + 60_000 ? 'day' : 'hour';
  const graph = useReply('/v1/analytics/graph', { query: { ...filter, interval } });
  const by = dimensionOf(page.get('by') ?? '').name;
  return (
    <Page
      title="Usage"
      about="Requests, cost, tokens and latency. Costs are in US dollars. Last seen is to the hour for some groups."
    >
      <Filters>
        <TimeRangeFields usual={usualRange} />
        <KeyField value={page.get('key') ?? ''} chosenName={keyName} />
        <QueryText label="Provider" name="provider" hint="@slug" />
        <QueryText label="Model" name="model" />
      </Filters>
      <Show loaded={graph}>{(body) => <Totals graph={body} />}</Show>
      <Section title="Who and what" about="Choose a heading to order the rows by it.">
        <Filters>
          <ChoiceField
            label="Group by"
            value={by}
            onValue={(name) => changeQuery({ by: name === dimensions[0]!.name ? '' : name })}
            choices={dimensions.map(({ name, text }) => [name, text] as const)}
          />
          {by === 'metadata' && <QueryText label="Metadata key" name="metadata" />}
        </Filters>
        <UsageGroups
          key={JSON.stringify([
            filter,
            by,
            page.get('metadata'),
            page.get('sort'),
            page.get('order'),
          ])}
          filter={filter}
          usualRange={usualRange}
          keyName={keyName}
        />
      </Section>
      {graph.body !== null && (
        <Section
          title="Over time"
          about={
            <>
              Whole hours, from <At at={graph.body.from} /> to <At at={graph.body.to} />.
            </>
          }
        >
          <UsagePlots graph={graph.body} />
        </Section>
      )}
    </Page>
  );
}
