/** Shows one workspace: facts, limits with their use, members, defaults and visibility. */
import { useState } from 'preact/hooks';
import {
  type BodyOf,
  workspace as chosen,
  type RequestFailed,
  type RowOf,
} from '../../api/client.ts';
import { chooseWorkspace, mayDo } from '../../api/session.ts';
import { useReply } from '../../api/use-reply.ts';
import { Changes } from '../../parts/changes.tsx';
import { Json } from '../../parts/code.tsx';
import { DeclaredNote } from '../../parts/declared.tsx';
import { BudgetUse, budgetText, formatAmount, rateText } from '../../parts/limits.tsx';
import { Facts, Page, Problem, Section, Show } from '../../parts/page.tsx';
import { type Column, NumberedPages, Table } from '../../parts/table.tsx';
import { Ago, NamedState } from '../../parts/text.tsx';
import type { PageParts } from '../pages.ts';

type Workspace = BodyOf<'/v1/admin/workspaces/{id}'>;
type Member = RowOf<'/v1/admin/workspaces/{id}/users'>;

const pageSize = 50;

export default function WorkspacePage({ parts: { id = '' } }: { readonly parts: PageParts }) {
  const workspace = useReply('/v1/admin/workspaces/{id}', { parts: { id } });
  return (
    <Page
      title={workspace.body === null ? 'Workspace' : `Workspace ${workspace.body.name}`}
      about={workspace.body?.description}
      actions={workspace.body !== null && <ShowOnly slug={workspace.body.slug} />}
    >
      <p>
        <a href="#/workspaces">All workspaces</a>
      </p>
      <Show loaded={workspace}>
        {(record) => (
          <>
            <DeclaredNote kind="Workspace" of={record} />
            <General of={record} />
            <Limits of={record} />
            {mayDo('workspace_users.list') && <Members id={id} />}
            <Section title="Defaults" about="They apply to requests that set nothing else.">
              {record.defaults === null ? (
                <p class="quiet">none</p>
              ) : (
                <Json value={record.defaults} label="Defaults" />
              )}
            </Section>
            <Visibility of={record} />
            <Changes id={record.id} kind="workspace" />
          </>
        )}
      </Show>
    </Page>
  );
}

/** Narrows all pages to the workspace, also where the choice in the navigation does not list it. */
function ShowOnly({ slug }: { readonly slug: string }) {
  const [failure, setFailure] = useState<RequestFailed | null>(null);
  if (chosen.value === slug) return null;
  const choose = (): void => {
    chooseWorkspace(slug).catch((error: RequestFailed) => setFailure(error));
  };
  return (
    <>
      {failure !== null && <Problem error={failure} />}
      <button type="button" onClick={choose}>
        Show only this workspace
      </button>
    </>
  );
}

interface PartProps {
  readonly of: Workspace;
}

function General({ of: workspace }: PartProps) {
  const { settings } = workspace;
  const maxDays = settings.api_key_max_ttl_days;
  return (
    <Section title="Workspace">
      <Facts
        facts={[
          ['State', <NamedState key="state" name={workspace.status} />],
          ['Slug', <code key="slug">{workspace.slug}</code>],
          ['Keys live at most', maxDays == null ? 'no maximum' : `${maxDays} days`],
          ['Keys of people at most', settings.user_api_keys_max ?? 'no maximum'],
          ['A new member gets a key', settings.user_api_key_auto_create === true ? 'yes' : 'no'],
          ['Created', <Ago key="created" at={workspace.created_at} />],
          ['Changed', <Ago key="changed" at={workspace.last_updated_at} />],
          ['Id', <code key="id">{workspace.id}</code>],
        ]}
      />
    </Section>
  );
}

function Limits({ of: workspace }: PartProps) {
  const { usage_limits: budgets, rate_limits: rates } = workspace;
  return (
    <Section title="Limits" about="They hold for all keys of the workspace together.">
      {budgets.length === 0 && rates.length === 0 && <p class="quiet">none</p>}
      {budgets.map((budget) => (
        <div key={budgetText(budget)}>
          <Facts
            facts={[
              ['Budget', budgetText(budget)],
              [
                'Alert at',
                budget.alert_threshold == null
                  ? 'never'
                  : formatAmount(budget.type, budget.alert_threshold),
              ],
              ['Next reset', <Ago key="next" at={budget.next_usage_reset_at} />],
              ['Last reset', <Ago key="last" at={workspace.last_reset_at} />],
            ]}
          />
          {mayDo('analytics.view') && (
            <BudgetUse
              budget={budget}
              times={{ ...workspace, next_usage_reset_at: budget.next_usage_reset_at }}
              filter={{ workspace_id: workspace.id }}
            />
          )}
        </div>
      ))}
      {rates.length > 0 && <Facts facts={[['Rate limits', rates.map(rateText).join(', ')]]} />}
    </Section>
  );
}

const memberColumns: readonly Column<Member>[] = [
  { name: 'Address', cell: ({ id, email }) => <a href={`#/people/${id}`}>{email}</a> },
  {
    name: 'Name',
    cell: (member) => [member.first_name, member.last_name].filter(Boolean).join(' ') || '–',
  },
  { name: 'Role here', cell: ({ role }) => role },
  { name: 'Role in the organisation', cell: ({ org_role: role }) => role },
  { name: 'State', cell: ({ status }) => <NamedState name={status} /> },
  { name: 'Scopes', isNumber: true, cell: ({ scopes }) => scopes.length },
];

function Members({ id }: { readonly id: string }) {
  const [page, setPage] = useState(0);
  const query = { page_size: pageSize, current_page: page };
  const members = useReply('/v1/admin/workspaces/{id}/users', { parts: { id }, query });
  return (
    <Section title="Members" about="Owner and admins of the organisation act here as well.">
      <Show loaded={members}>
        {({ data, total }) => (
          <>
            <Table
              caption="Members"
              columns={memberColumns}
              rows={data}
              keyOf={(member) => member.id}
              empty="The workspace has no members."
            />
            <NumberedPages page={page} pageSize={pageSize} total={total} onPage={setPage} />
          </>
        )}
      </Show>
    </Section>
  );
}

/** `membersViewLogs` as "members view logs". */
const settingText = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

function Visibility({ of: { security_settings: settings } }: PartProps) {
  const withheld = Object.entries(settings).filter(([, isOn]) => !isOn);
  return (
    <Section title="Visibility" about="Settings only restrict: a role needs the scope as well.">
      {withheld.length === 0 ? (
        <p>Nothing is withheld from members and managers.</p>
      ) : (
        <>
          <p>Withheld:</p>
          <ul class="tags">
            {withheld.map(([name]) => (
              <li key={name}>{settingText(name)}</li>
            ))}
          </ul>
        </>
      )}
    </Section>
  );
}
