/** Lists the service accounts: programs that call the Admin API. */
import { useState } from 'preact/hooks';
import type { RowOf } from '../../api/client.ts';
import { useReply } from '../../api/use-reply.ts';
import { nameOfWorkspace } from '../../api/workspaces.ts';
import { Section, Show } from '../../parts/page.tsx';
import { type Column, NumberedPages, Table } from '../../parts/table.tsx';
import { Ago, NamedState } from '../../parts/text.tsx';

type Account = RowOf<'/admin/v2/service-accounts'>;

const pageSize = 20;

const columns: readonly Column<Account>[] = [
  {
    name: 'Name',
    cell: ({ name, client_id: client }) => (
      <>
        {name}
        <br />
        <code class="quiet">{client}</code>
      </>
    ),
  },
  { name: 'Purpose', cell: ({ description }) => description ?? '–' },
  { name: 'Roles', cell: ({ roles }) => roles.join(', ') },
  { name: 'State', cell: ({ status }) => <NamedState name={status} /> },
  { name: 'Acts in', cell: ({ workspace_id: id }) => nameOfWorkspace(id) },
  { name: 'Secret rotated', cell: ({ rotated_at: at }) => <Ago at={at} /> },
  { name: 'Previous secret until', cell: ({ transition_expires_at: at }) => <Ago at={at} /> },
];

export function ServiceAccounts() {
  const [page, setPage] = useState(0);
  const query = { page_size: pageSize, current_page: page };
  const accounts = useReply('/admin/v2/service-accounts', { query });
  return (
    <Section
      title="Service accounts"
      about={
        <>
          <code>gatewright service-account</code> creates, rotates and disables them; it writes the
          secret to a file.
        </>
      }
    >
      <Show loaded={accounts}>
        {({ data, total }) => (
          <>
            <Table
              caption="Service accounts"
              columns={columns}
              rows={data}
              keyOf={({ id }) => id}
              empty="There are no service accounts."
            />
            <NumberedPages page={page} pageSize={pageSize} total={total} onPage={setPage} />
          </>
        )}
      </Show>
    </Section>
  );
}
