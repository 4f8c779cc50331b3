/** Shows what one run of sync changed, field by field. */
import { useReply } from '../../api/use-reply.ts';
import { Code } from '../../parts/code.tsx';
import { Facts, Page, Section, Show } from '../../parts/page.tsx';
import { Table } from '../../parts/table.tsx';
import { Ago, NamedState } from '../../parts/text.tsx';
import type { PageParts } from '../pages.ts';

export default function Revision({
  parts: { owner = '', number = '' },
}: {
  readonly parts: PageParts;
}) {
  const revision = useReply('/admin/v2/gatewright/sync/revisions/{number}', {
    query: { owner },
    parts: { number },
  });
  return (
    <Page title={`Revision ${number} of ${owner}`}>
      <Show loaded={revision}>
        {({ commit, source, ending, started_at, finished_at, changes }) => (
          <>
            <Section title="Run">
              <Facts
                facts={[
                  ['Result', <NamedState key="ending" name={ending} />],
                  ['Source', source],
                  ['Commit', commit],
                  ['Started', <Ago key="started" at={started_at} />],
                  ['Finished', <Ago key="finished" at={finished_at} />],
                ]}
              />
            </Section>
            <Table
              caption="Changes"
              rows={changes}
              keyOf={(row) => `${row.kind} ${row.workspace} ${row.name} ${row.action}`}
              empty="The run changed nothing."
              columns={[
                { name: 'Change', cell: ({ action }) => action },
                { name: 'Kind', cell: ({ kind }) => kind },
                { name: 'Workspace', cell: ({ workspace }) => workspace ?? '–' },
                { name: 'Name', cell: ({ name }) => name },
                { name: 'Fields', cell: ({ fields }) => fields.join(', ') },
              ]}
            />
            <Section title="Go back" about="Sync then stays at this revision until it is resumed.">
              <Code
                label="On a machine with credentials"
                text={`gatewright rollback ${number} --owner ${owner}`}
              />
            </Section>
          </>
        )}
      </Show>
    </Page>
  );
}
