/** Lists the invites, and creates, resends and cancels them. */
import { useState } from 'preact/hooks';
import { addressOf, change, type RowOf } from '../../api/client.ts';
import { mayDo } from '../../api/session.ts';
import { useReply } from '../../api/use-reply.ts';
import { nameOfWorkspace, workspaces } from '../../api/workspaces.ts';
import { ActionDialog } from '../../parts/dialog.tsx';
import { ChoiceField } from '../../parts/fields.tsx';
import { Section, Show } from '../../parts/page.tsx';
import { type Column, NumberedPages, Table } from '../../parts/table.tsx';
import { Ago, NamedState } from '../../parts/text.tsx';
import { CreateInvite } from './create-invite.tsx';

type Invite = RowOf<'/v1/admin/users/invites'>;

interface InviteAction {
  readonly action: 'resend' | 'cancel';
  readonly invite: Invite;
}

const pageSize = 20;

const states = [
  ['pending', 'pending'],
  ['expired', 'expired'],
  ['accepted', 'accepted'],
  ['cancelled', 'cancelled'],
  ['', 'All'],
] as const;

export function Invites() {
  const [page, setPage] = useState(0);
  const [status, setStatus] = useState('pending');
  const [isCreating, setCreating] = useState(false);
  const [chosen, setChosen] = useState<InviteAction | null>(null);
  const query = { page_size: pageSize, current_page: page, status };
  const invites = useReply('/v1/admin/users/invites', { query });
  const filter = (value: string): void => {
    setStatus(value);
    setPage(0);
  };
  return (
    <Section
      title="Invites"
      about="A person who signs in with an invited address becomes a member. No mail is sent: tell the person."
    >
      <div class="actions">
        <ChoiceField label="State" value={status} onValue={filter} choices={states} />
        {mayDo('organisation_users.create') && (
          <button type="button" onClick={() => setCreating(true)}>
            Invite…
          </button>
        )}
      </div>
      <Show loaded={invites}>
        {({ data, total }) => (
          <>
            <Table
              caption="Invites"
              columns={columnsOf(setChosen)}
              rows={data}
              keyOf={({ id }) => id}
              empty="There is no such invite."
            />
            <NumberedPages page={page} pageSize={pageSize} total={total} onPage={setPage} />
          </>
        )}
      </Show>
      {isCreating && <CreateInvite onClose={() => setCreating(false)} onDone={invites.reload} />}
      {chosen !== null && (
        <ChangeInvite {...chosen} onClose={() => setChosen(null)} onDone={invites.reload} />
      )}
    </Section>
  );
}

/** Invites name workspaces by id or by slug, as they were sent. */
const workspaceText = ({ id, role }: Invite['workspaces'][number]): string => {
  const bySlug = workspaces.value.find(({ slug }) => slug === id);
  return `${bySlug?.name ?? nameOfWorkspace(id)} (${role})`;
};

function columnsOf(onChoose: (chosen: InviteAction) => void): readonly Column<Invite>[] {
  const mayResend = mayDo('organisation_users.create');
  const mayCancel = mayDo('organisation_users.delete');
  return [
    { name: 'Address', cell: ({ email }) => email },
    { name: 'Role', cell: ({ role }) => role },
    {
      name: 'Workspaces',
      cell: ({ workspaces: places }) => places.map(workspaceText).join(', ') || '–',
    },
    { name: 'State', cell: ({ status }) => <NamedState name={status} /> },
    { name: 'Open until', cell: ({ expires_at: at }) => <Ago at={at} /> },
    {
      name: 'Actions',
      cell: (invite) => {
        if (invite.status !== 'pending' && invite.status !== 'expired') return '–';
        return (
          <div class="actions">
            {mayResend && (
              <button
                type="button"
                aria-label={`Resend the invite of ${invite.email}`}
                onClick={() => onChoose({ action: 'resend', invite })}
              >
                Resend…
              </button>
            )}
            {mayCancel && (
              <button
                type="button"
                aria-label={`Cancel the invite of ${invite.email}`}
                onClick={() => onChoose({ action: 'cancel', invite })}
              >
                Cancel…
              </button>
            )}
          </div>
        );
      },
    },
  ];
}

interface ChangeProps extends InviteAction {
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function ChangeInvite({ action, invite, onClose, onDone }: ChangeProps) {
  const isResend = action === 'resend';
  const act = async (): Promise<void> => {
    const { id } = invite;
    if (isResend) {
      await change('POST', addressOf('/v1/admin/users/invites/{id}/resend', {}, { id }), {});
    } else await change('DELETE', addressOf('/v1/admin/users/invites/{id}', {}, { id }));
    onDone();
  };
  return (
    <ActionDialog
      title={
        isResend ? `Resend the invite of ${invite.email}` : `Cancel the invite of ${invite.email}`
      }
      verb={isResend ? 'Resend' : 'Cancel the invite'}
      isDangerous={!isResend}
      onClose={onClose}
      act={act}
    >
      <p>
        {isResend
          ? 'The invite is open for another seven days. No mail is sent: tell the person to sign in.'
          : 'The address can no longer join by this invite. The invite stays in the list.'}
      </p>
    </ActionDialog>
  );
}
