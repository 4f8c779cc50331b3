/** Lists the people of the organisation with their roles and states. */
import type { RowOf } from '../../api/client.ts';
import { useReply } from '../../api/use-reply.ts';
import { nameOfWorkspace } from '../../api/workspaces.ts';
import { ChoiceField, Filters, SearchField } from '../../parts/fields.tsx';
import { Section, Show } from '../../parts/page.tsx';
import { openPage } from '../../parts/query-fields.tsx';
import { type Column, NumberedPages, Table } from '../../parts/table.tsx';
import { Ago, NamedState } from '../../parts/text.tsx';
import { changeQuery, queryOf } from '../../routing/routes.ts';

type User = RowOf<'/v1/admin/users'>;

const pageSize = 50;

/** First and last name, where they are known. */
export const nameOf = (user: Pick<User, 'first_name' | 'last_name'>): string =>
  [user.first_name, user.last_name].filter((part) => part !== null).join(' ');

const columns: readonly Column<User>[] = [
  { name: 'Address', cell: ({ id, email }) => <a href={`#/people/${id}`}>{email}</a> },
  { name: 'Name', cell: (user) => nameOf(user) || '–' },
  { name: 'Role', cell: ({ role }) => role },
  { name: 'State', cell: ({ status }) => <NamedState name={status} /> },
  {
    name: 'Workspaces',
    cell: ({ role, workspace_ids: ids }) =>
      role === 'member' ? ids.map(nameOfWorkspace).join(', ') || 'none' : 'all',
  },
  { name: 'Since', cell: ({ created_at: at }) => <Ago at={at} /> },
];

export function Users() {
  const address = queryOf();
  const page = Number(address.get('page') ?? 0);
  const search = address.get('search') ?? '';
  const role = address.get('role') ?? '';
  const query = { page_size: pageSize, current_page: page, search, role };
  const users = useReply('/v1/admin/users', { query });
  return (
    <Section title="Users" about="Open a user to see and end the sessions.">
      <Filters>
        <SearchField
          label="Name or address"
          value={search}
          onValue={(value) => changeQuery({ search: value, page: '' })}
        />
        <ChoiceField
          label="Role"
          value={role}
          onValue={(value) => changeQuery({ role: value, page: '' })}
          choices={[
            ['', 'All'],
            ['owner', 'owner'],
            ['admin', 'admin'],
            ['member', 'member'],
          ]}
        />
      </Filters>
      <Show loaded={users}>
        {({ data, total }) => (
          <>
            <Table
              caption="Users"
              columns={columns}
              rows={data}
              keyOf={({ id }) => id}
              empty="No user matches these filters."
            />
            <NumberedPages page={page} pageSize={pageSize} total={total} onPage={openPage} />
          </>
        )}
      </Show>
    </Section>
  );
}
