/** Lists the configs, which say where requests go. */
import { useState } from 'preact/hooks';
import { useReply } from '../../api/use-reply.ts';
import { Page, Show } from '../../parts/page.tsx';
import { NumberedPages, Table } from '../../parts/table.tsx';
import { Ago, NamedState } from '../../parts/text.tsx';

const pageSize = 50;

export default function Configs() {
  const [page, setPage] = useState(0);
  const configs = useReply('/v1/configs', { query: { page_size: pageSize, current_page: page } });
  return (
    <Page title="Configs" about="Where requests go: targets, strategies, retries and guardrails.">
      <Show loaded={configs}>
        {({ data, total }) => (
          <>
            <Table
              caption="Configs"
              rows={data}
              keyOf={({ id }) => id}
              empty="There is no config in this workspace."
              columns={[
                { name: 'Name', cell: ({ id, name }) => <a href={`#/configs/${id}`}>{name}</a> },
                { name: 'Slug', cell: ({ slug }) => <code>{slug}</code> },
                { name: 'State', cell: ({ status }) => <NamedState name={status} /> },
                { name: 'Changed', cell: (row) => <Ago at={row.last_updated_at} /> },
              ]}
            />
            <NumberedPages page={page} pageSize={pageSize} total={total} onPage={setPage} />
          </>
        )}
      </Show>
    </Page>
  );
}
