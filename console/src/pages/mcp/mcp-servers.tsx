/** Lists the MCP servers with their state and address. */
import { useState } from 'preact/hooks';
import { useReply } from '../../api/use-reply.ts';
import { Filters, TextField } from '../../parts/fields.tsx';
import { Page, Show } from '../../parts/page.tsx';
import { Pages, Table } from '../../parts/table.tsx';
import { NamedState } from '../../parts/text.tsx';
import { changeQuery, queryOf } from '../../routing/routes.ts';

export default function McpServers() {
  const [page, setPage] = useState(0);
  const search = queryOf().get('search') ?? '';
  const servers = useReply('/v1/mcp-servers', {
    query: { page_size: 50, current_page: page, search },
  });
  return (
    <Page title="MCP servers" about="Servers whose tools, prompts and resources callers may use.">
      <Filters>
        <TextField
          label="Name"
          value={search}
          onValue={(value) => {
            setPage(0);
            changeQuery({ search: value });
          }}
        />
      </Filters>
      <Show loaded={servers}>
        {({ data, has_more, total }) => (
          <>
            <Table
              caption="MCP servers"
              rows={data}
              keyOf={({ id }) => id}
              empty="There is no MCP server here."
              columns={[
                {
                  name: 'Name',
                  cell: ({ id, name }) => <a href={`#/mcp-servers/${id}`}>{name}</a>,
                },
                { name: 'Slug', cell: ({ slug }) => <code>{slug}</code> },
                { name: 'Workspace', cell: (row) => row.workspace_name ?? '–' },
                { name: 'State', cell: ({ status }) => <NamedState name={status} /> },
                { name: 'Definitions', cell: (row) => row.definition_policy },
                { name: 'Address', cell: ({ url }) => url },
              ]}
            />
            <Pages page={page} hasMore={has_more} total={total} onPage={setPage} />
          </>
        )}
      </Show>
    </Page>
  );
}
