/** Lists the policies that limit usage and rates of requests by their properties. */
import type { RowOf } from '../../api/client.ts';
import { useReply } from '../../api/use-reply.ts';
import { nameOfWorkspace } from '../../api/workspaces.ts';
import { ChoiceField, Filters } from '../../parts/fields.tsx';
import { budgetText, formatAmount, rateText } from '../../parts/limits.tsx';
import { Page, Section, Show } from '../../parts/page.tsx';
import { type Column, NumberedPages, Table } from '../../parts/table.tsx';
import { Ago, NamedState } from '../../parts/text.tsx';
import { changeQuery, queryOf } from '../../routing/routes.ts';
import { conditionTexts, groupText, titleOf } from './policy-texts.ts';

type UsagePolicy = RowOf<'/v1/policies/usage-limits'>;
type RatePolicy = RowOf<'/v1/policies/rate-limits'>;
type Policy = UsagePolicy | RatePolicy;

const pageSize = 20;

export default function Limits() {
  const status = queryOf().get('status') ?? 'active';
  return (
    <Page
      title="Limits"
      about={
        <>
          Policies limit requests by their properties. Budgets of single keys and workspaces are
          with the <a href="#/keys">keys</a> and <a href="#/workspaces">workspaces</a>.
        </>
      }
    >
      <Filters>
        <ChoiceField
          label="State"
          value={status}
          onValue={(value) => changeQuery({ status: value, usage: '', rate: '' })}
          choices={[
            ['active', 'active'],
            ['archived', 'archived'],
          ]}
        />
      </Filters>
      <UsagePolicies status={status} />
      <RatePolicies status={status} />
    </Page>
  );
}

interface ListProps {
  readonly status: string;
}

/** The page of a list whose number is the member `name` of the address. */
function usePage(name: string) {
  const page = Number(queryOf().get(name) ?? 0);
  const setPage = (next: number) => changeQuery({ [name]: next === 0 ? '' : String(next) });
  return { page, setPage };
}

/** Columns that both kinds have. */
const sharedColumns: readonly Column<Policy>[] = [
  {
    name: 'Applies to',
    cell: (policy) => conditionTexts(policy).map((text) => <div key={text}>{text}</div>),
  },
  { name: 'Counter for each', cell: groupText },
  { name: 'Workspace', cell: ({ workspace_id: id }) => nameOfWorkspace(id) },
  { name: 'State', cell: ({ status }) => <NamedState name={status} /> },
];

function UsagePolicies({ status }: ListProps) {
  const { page, setPage } = usePage('usage');
  const query = { page_size: pageSize, current_page: page, status };
  const policies = useReply('/v1/policies/usage-limits', { query });
  const columns: readonly Column<UsagePolicy>[] = [
    {
      name: 'Name',
      cell: (policy) => <a href={`#/limits/${policy.id}`}>{titleOf(policy)}</a>,
    },
    { name: 'Budget', cell: budgetText },
    {
      name: 'Alert at',
      cell: ({ type, alert_threshold: at }) => (at === null ? 'never' : formatAmount(type, at)),
    },
    { name: 'Next reset', cell: ({ next_usage_reset_at: at }) => <Ago at={at} /> },
    ...sharedColumns,
  ];
  return (
    <Section title="Usage limits" about="Open a policy to see the usage of each counter.">
      <Show loaded={policies}>
        {({ data, total }) => (
          <>
            <Table
              caption="Policies that limit usage"
              columns={columns}
              rows={data}
              keyOf={({ id }) => id}
              empty="There is no such policy."
            />
            <NumberedPages page={page} pageSize={pageSize} total={total} onPage={setPage} />
          </>
        )}
      </Show>
    </Section>
  );
}

function RatePolicies({ status }: ListProps) {
  const { page, setPage } = usePage('rate');
  const query = { page_size: pageSize, current_page: page, status };
  const policies = useReply('/v1/policies/rate-limits', { query });
  const columns: readonly Column<RatePolicy>[] = [
    {
      name: 'Name',
      cell: (policy) =>
        policy.declared_in === null ? (
          <a href={`#/edit/RateLimitPolicy/${policy.id}`}>{titleOf(policy)}</a>
        ) : (
          <a href={`#/manifests/RateLimitPolicy/${policy.id}`}>{titleOf(policy)}</a>
        ),
    },
    { name: 'Limit', cell: rateText },
    { name: 'Covers', cell: ({ target }) => (target === 'llm' ? 'models' : 'MCP tools') },
    ...sharedColumns,
  ];
  return (
    <Section
      title="Rate limits"
      about="Requests beyond the limit get 429 with the time to wait. The API returns no usage of them."
    >
      <Show loaded={policies}>
        {({ data, total }) => (
          <>
            <Table
              caption="Policies that limit rates"
              columns={columns}
              rows={data}
              keyOf={({ id }) => id}
              empty="There is no such policy."
            />
            <NumberedPages page={page} pageSize={pageSize} total={total} onPage={setPage} />
          </>
        )}
      </Show>
    </Section>
  );
}
