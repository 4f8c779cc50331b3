/** Lists the people of the organisation, the invites and the service accounts. */
import { workspace } from '../../api/client.ts';
import { mayDo } from '../../api/session.ts';
import { Page } from '../../parts/page.tsx';
import { Invites } from './invites.tsx';
import { ServiceAccounts } from './service-accounts.tsx';
import { Users } from './users.tsx';

export default function People() {
  const isWhole = workspace.value === '';
  const mayListUsers = mayDo('organisation_users.list');
  const mayListAccounts = mayDo('service_accounts.list');
  return (
    <Page
      title="People"
      about="People sign in, service accounts are programs with their own secret."
    >
      {isWhole ? (
        <>
          {mayListUsers && <Users />}
          {mayListUsers && <Invites />}
          {mayListAccounts && <ServiceAccounts />}
          {!mayListUsers && !mayListAccounts && (
            <p>Your role may list neither people nor service accounts.</p>
          )}
        </>
      ) : (
        <p>
          People belong to the organisation. Choose “All workspaces” on the left, or see the members
          of this workspace on <a href={`#/workspaces/${workspace.value}`}>its page</a>.
        </p>
      )}
    </Page>
  );
}
