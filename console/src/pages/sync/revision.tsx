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
            <RollBack owner={owner} number={Number(number)} />
          </>
        )}
      </Show>
    </Page>
  );
}

/** The server stores no manifests, so the command line reads them again from the repository. */
function RollBack({ owner, number }: { readonly owner: string; readonly number: number }) {
  const commandFor = (revision: number): string =>
    `gatewright rollback ${revision} --owner ${shellWord(owner)}`;
  return (
    <Section
      title="Roll back"
      about="On a machine with the repository's credentials. It shows the plan before it changes anything; sync then stays suspended until it is resumed."
    >
      {number > 1 && (
        <Code
          label={`Undo revision ${number}: apply the commit of revision ${number - 1}`}
          text={commandFor(number - 1)}
        />
      )}
      <Code
        label={`Undo later revisions: apply the commit of revision ${number}`}
        text={commandFor(number)}
      />
    </Section>
  );
}

function shellWord(text: string): string {
  return /^[\w./@:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
