/** Lists the workspaces with their states and limits. */
import type { RowOf } from '../../api/client.ts';
import { useReply } from '../../api/use-reply.ts';
import { ChoiceField, Filters, SearchField } from '../../parts/fields.tsx';
import { budgetText, rateText } from '../../parts/limits.tsx';
import { Page, Show } from '../../parts/page.tsx';
import { openPage } from '../../parts/query-fields.tsx';
import { type Column, NumberedPages, Table } from '../../parts/table.tsx';
import { Ago, NamedState } from '../../parts/text.tsx';
import { changeQuery, queryOf } from '../../routing/routes.ts';

type Workspace = RowOf<'/v1/admin/workspaces'>;

const pageSize = 50;

const columns: readonly Column<Workspace>[] = [
  {
    name: 'Name',
    cell: ({ slug, name }) => (
      <>
        <a href={`#/workspaces/${slug}`}>{name}</a>
        <br />
        <code class="quiet">{slug}</code>
      </>
    ),
  },
  { name: 'Purpose', cell: ({ description }) => description ?? '–' },
  { name: 'State', cell: ({ status }) => <NamedState name={status} /> },
  {
    name: 'Limits',
    cell: ({ usage_limits: budgets, rate_limits: rates }) => {
      const texts = [...budgets.map(budgetText), ...rates.map(rateText)];
      if (texts.length === 0) return <span class="quiet">none</span>;
      return texts.map((text) => <div key={text}>{text}</div>);
    },
  },
  { name: 'Created', cell: ({ created_at: at }) => <Ago at={at} /> },
];

export default function Workspaces() {
  const address = queryOf();
  const page = Number(address.get('page') ?? 0);
  const name = address.get('name') ?? '';
  const status = address.get('status') ?? 'active';
  const query = { page_size: pageSize, current_page: page, name, status };
  const workspaces = useReply('/v1/admin/workspaces', { query });
  return (
    <Page
      title="Workspaces"
      about="Teams or products, each with its own keys, configs, members and limits."
    >
      <Filters>
        <SearchField
          label="Name"
          hint="part of the name"
          value={name}
          onValue={(value) => changeQuery({ name: value, page: '' })}
        />
        <ChoiceField
          label="State"
          value={status}
          onValue={(value) => changeQuery({ status: value, page: '' })}
          choices={[
            ['active', 'active'],
            ['archived', 'archived'],
          ]}
        />
      </Filters>
      <Show loaded={workspaces}>
        {({ data, total }) => (
          <>
            <Table
              caption="Workspaces"
              columns={columns}
              rows={data}
              keyOf={({ id }) => id}
              empty="No workspace matches these filters."
            />
            <NumberedPages page={page} pageSize={pageSize} total={total} onPage={openPage} />
          </>
        )}
      </Show>
    </Page>
  );
}
