/** Shows one user with the sessions, which can be ended, and the user's keys. */
import { useState } from 'preact/hooks';
import { addressOf, change, type RowOf } from '../../api/client.ts';
import { mayDo, session } from '../../api/session.ts';
import { useReply } from '../../api/use-reply.ts';
import { nameOfWorkspace } from '../../api/workspaces.ts';
import { ActionDialog } from '../../parts/dialog.tsx';
import { Facts, Page, Section, Show } from '../../parts/page.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Ago, NamedState } from '../../parts/text.tsx';
import type { PageParts } from '../pages.ts';
import { nameOf } from './users.tsx';

type UserSession = RowOf<'/v1/admin/users/{id}/sessions'>;

export default function User({ parts: { id = '' } }: { readonly parts: PageParts }) {
  const user = useReply('/v1/admin/users/{id}', { parts: { id } });
  const email = user.body?.email ?? 'User';
  return (
    <Page title={email}>
      <p>
        <a href="#/people">All people</a>
      </p>
      <Show loaded={user}>
        {(record) => (
          <>
            <Section title="Person">
              <Facts
                facts={[
                  ['Name', nameOf(record) || '–'],
                  ['Role', record.role],
                  ['State', <NamedState key="state" name={record.status} />],
                  [
                    'Workspaces',
                    record.role === 'member'
                      ? record.workspace_ids.map(nameOfWorkspace).join(', ') || 'none'
                      : 'all',
                  ],
                  ['Since', <Ago key="since" at={record.created_at} />],
                  ['Changed', <Ago key="changed" at={record.last_updated_at} />],
                  ['Id', <code key="id">{id}</code>],
                ]}
              />
            </Section>
            <Sessions id={id} email={email} />
            <Keys id={id} />
          </>
        )}
      </Show>
    </Page>
  );
}

/** Which sessions are to be ended: one, or all of the user. */
type Ending = UserSession | 'all';

function Sessions({ id, email }: { readonly id: string; readonly email: string }) {
  const sessions = useReply('/v1/admin/users/{id}/sessions', { parts: { id } });
  const [ending, setEnding] = useState<Ending | null>(null);
  const mayEnd = mayDo('organisation_users.update');
  const columns: Column<UserSession>[] = [
    { name: 'Signed in', cell: ({ created_at: at }) => <Ago at={at} /> },
    { name: 'Last used', cell: ({ last_used_at: at }) => <Ago at={at} /> },
    { name: 'Ends', cell: ({ expires_at: at }) => <Ago at={at} /> },
    { name: 'This browser', cell: (one) => (one.id === session.value?.id ? 'yes' : 'no') },
  ];
  if (mayEnd) {
    columns.push({
      name: 'Action',
      cell: (one) => (
        <button type="button" onClick={() => setEnding(one)}>
          End…
        </button>
      ),
    });
  }
  return (
    <Section title="Sessions">
      <Show loaded={sessions}>
        {({ data }) => (
          <>
            <Table
              caption="Sessions"
              columns={columns}
              rows={data}
              keyOf={(one) => one.id}
              empty="Nobody is signed in with this address."
            />
            {mayEnd && data.length > 0 && (
              <button type="button" onClick={() => setEnding('all')}>
                End all sessions…
              </button>
            )}
          </>
        )}
      </Show>
      {ending !== null && (
        <EndSession
          id={id}
          email={email}
          ending={ending}
          onClose={() => setEnding(null)}
          onDone={sessions.reload}
        />
      )}
    </Section>
  );
}

interface EndProps {
  readonly id: string;
  readonly email: string;
  readonly ending: Ending;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function EndSession({ id, email, ending, onClose, onDone }: EndProps) {
  const act = async (): Promise<void> => {
    const address =
      ending === 'all'
        ? addressOf('/v1/admin/users/{id}/sessions', {}, { id })
        : addressOf('/v1/admin/users/{id}/sessions/{sessionId}', {}, { id, sessionId: ending.id });
    await change('DELETE', address);
    onDone();
  };
  return (
    <ActionDialog
      title={ending === 'all' ? `End all sessions of ${email}` : `End a session of ${email}`}
      verb="End"
      isDangerous
      onClose={onClose}
      act={act}
    >
      <p>
        The person is signed out {ending === 'all' ? 'everywhere' : 'in that browser'} and can sign
        in again. Keys keep working: revoke them on the page Keys.
      </p>
    </ActionDialog>
  );
}

function Keys({ id }: { readonly id: string }) {
  const keys = useReply('/v1/api-keys', { query: { user_id: id, page_size: 20 } });
  return (
    <Section title="Keys of the person">
      <Show loaded={keys}>
        {({ data, total }) => (
          <>
            <Table
              caption="Keys of the person"
              columns={[
                { name: 'Name', cell: (key) => <a href={`#/keys/${key.id}`}>{key.name}</a> },
                { name: 'State', cell: ({ status }) => <NamedState name={status} /> },
                { name: 'Workspace', cell: (key) => nameOfWorkspace(key.workspace_id) },
                { name: 'Expires', cell: ({ expires_at: at }) => <Ago at={at} /> },
              ]}
              rows={data}
              keyOf={(key) => key.id}
              empty="The person has no key."
            />
            {total > data.length && <p class="quiet">The newest 20 of {total}.</p>}
          </>
        )}
      </Show>
    </Section>
  );
}
