/** Shows the changes of one resource from the audit log, loaded when the reader opens them. */
import { useMemo, useState } from 'preact/hooks';
import { mayDo } from '../api/session.ts';
import { useReply } from '../api/use-reply.ts';
import { Show } from './page.tsx';
import { Table } from './table.tsx';
import { Ago } from './text.tsx';

interface ChangesProps {
  readonly id: string;
  /** Noun of the page for it: `key`. */
  readonly kind: string;
}

export function Changes({ id, kind }: ChangesProps) {
  const [isOpen, setOpen] = useState(false);
  const changes = useChanges(id, isOpen);
  if (!mayDo('audit_logs.list')) return null;
  return (
    <details class="panel" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Changes of the last year</summary>
      {isOpen && (
        <Show loaded={changes}>
          {({ data }) => (
            <Table
              caption={`Changes of the ${kind}`}
              columns={[
                { name: 'Time', cell: ({ created_at: at }) => <Ago at={at} /> },
                { name: 'Action', cell: ({ action }) => action },
                { name: 'By', cell: ({ actor_type: type }) => type.replace('_', ' ') },
                {
                  name: 'Facts',
                  cell: ({ metadata }) => <code>{JSON.stringify(metadata)}</code>,
                },
              ]}
              rows={data}
              keyOf={(row) => row.id}
              empty="Nothing changed in the last year."
            />
          )}
        </Show>
      )}
    </details>
  );
}

const dayMs = 86_400_000;

/** The newest 20 changes of a resource within a year, as far as the audit log goes back. */
function useChanges(id: string, isOn: boolean) {
  const start_time = useMemo(() => {
    const today = Math.floor(Date.now() / dayMs) * dayMs;
    return new Date(today - 364 * dayMs).toISOString();
  }, []);
  return useReply('/v1/audit-logs', {
    query: { resource_id: id, page_size: 20, start_time },
    isOn,
  });
}
