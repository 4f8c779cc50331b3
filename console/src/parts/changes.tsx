/** Shows the changes of one resource from the audit log, loaded when the reader opens them. */
import { useState } from 'preact/hooks';
import { mayDo } from '../api/session.ts';
import { ManagedNote, useChanges } from './managed.tsx';
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
      <summary>Changes of the last year, and who manages the {kind}</summary>
      {isOpen && (
        <Show loaded={changes}>
          {({ data }) => (
            <>
              <ManagedNote entries={data}>
                Change the manifest to change this {kind}; sync applies it.
              </ManagedNote>
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
            </>
          )}
        </Show>
      )}
    </details>
  );
}
