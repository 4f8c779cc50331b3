/** Shows each sync installation: source, commits, state by workspace, suspensions and history. */
import { useState } from 'preact/hooks';
import { addressOf, change, type RowOf } from '../../api/client.ts';
import { mayDo } from '../../api/session.ts';
import { useReply } from '../../api/use-reply.ts';
import { Facts, Page, Problem, Section, Show } from '../../parts/page.tsx';
import { Pages, Table } from '../../parts/table.tsx';
import { Ago, NamedState } from '../../parts/text.tsx';
import { SuspendDialog } from './suspend-dialog.tsx';

type Owner = RowOf<'/admin/v2/gatewright/sync/status'>;
type Revision = RowOf<'/admin/v2/gatewright/sync/revisions'>;
type Suspension = Owner['suspensions'][number];

const refreshMs = 10_000;
/** The history of each is a request of its own. */
const ownersOfPage = 2;
const claimScope = 'managed_resources.claim';

export default function Sync() {
  const [page, setPage] = useState(0);
  const status = useReply('/admin/v2/gatewright/sync/status', {
    query: { page_size: ownersOfPage, current_page: page },
    everyMs: refreshMs,
  });
  return (
    <Page
      title="Sync"
      about="What the manifests in Git say, and how far this gateway follows them. Change managed resources there."
    >
      <Show loaded={status}>
        {({ data, has_more, total }) => (
          <>
            {data.length === 0 && (
              <p class="empty">
                Nothing is synced yet. Run <code>gatewright sync</code> with a folder or a Git
                repository.
              </p>
            )}
            {data.map((owner) => (
              <OwnerPanel key={owner.owner} owner={owner} onChange={status.reload} />
            ))}
            <Pages page={page} hasMore={has_more} total={total} onPage={setPage} />
          </>
        )}
      </Show>
    </Page>
  );
}

interface OwnerProps {
  readonly owner: Owner;
  readonly onChange: () => void;
}

function OwnerPanel({
  owner: { owner, report, lease, told_at, suspensions },
  onChange,
}: OwnerProps) {
  const [isSuspending, setSuspending] = useState(false);
  return (
    <>
      <Section title={`Owner ${owner}`}>
        {report?.error != null && <Problem error={problemOf(report.error)} />}
        {report?.message != null && <p>{report.message}</p>}
        <Facts
          facts={[
            ['State', <NamedState key="state" name={report?.state} />],
            ['Source', report?.source ?? '–'],
            ['Commit applied', shortCommit(report?.commit_applied)],
            ['Newest commit', shortCommit(report?.commit_seen)],
            ['Drifted fields', report?.drift_count ?? '–'],
            ['Last report', <Ago key="told" at={told_at} />],
            ['Next look', <Ago key="next" at={report?.next_look_at} />],
            ['Run', lease === null ? 'none now' : `by ${lease.holder}`],
          ]}
        />
        <Suspensions owner={owner} suspensions={suspensions} onChange={onChange} />
        {mayDo(claimScope) && (
          <button type="button" onClick={() => setSuspending(true)}>
            Suspend sync…
          </button>
        )}
        {isSuspending && (
          <SuspendDialog
            owner={owner}
            workspaces={(report?.workspaces ?? []).flatMap(({ workspace }) => workspace ?? [])}
            onClose={() => setSuspending(false)}
            onDone={onChange}
          />
        )}
      </Section>
      <Workspaces report={report} />
      <History owner={owner} />
    </>
  );
}

function problemOf({
  file,
  line,
  column,
  message,
}: NonNullable<NonNullable<Owner['report']>['error']>) {
  const place = [file, line, column].filter((part) => part !== null).join(':');
  return { message: place === '' ? message : `${place}: ${message}` };
}

function Suspensions({
  owner,
  suspensions,
  onChange,
}: {
  readonly owner: string;
  readonly suspensions: readonly Suspension[];
  readonly onChange: () => void;
}) {
  const [failure, setFailure] = useState<string | null>(null);
  const resume = (workspace: string | null): void => {
    const query = { owner, workspace: workspace ?? undefined };
    const address = addressOf('/admin/v2/gatewright/sync/suspensions', query);
    change('DELETE', address).then(onChange, (error: Error) => setFailure(error.message));
  };
  return (
    <>
      {failure !== null && <Problem error={{ message: failure }} />}
      {suspensions.map(({ workspace, until, reason }) => (
        <p key={workspace ?? ''}>
          <NamedState name="Suspended" /> {workspace ?? 'everything'}
          {until === null ? ' until it is resumed' : <> until {until}</>}
          {reason != null && `: ${reason}`}{' '}
          {mayDo(claimScope) && (
            <button type="button" onClick={() => resume(workspace)}>
              Resume
            </button>
          )}
        </p>
      ))}
    </>
  );
}

function Workspaces({ report }: { readonly report: Owner['report'] }) {
  if (report === null) return null;
  return (
    <Table
      caption="State of each workspace"
      rows={report.workspaces}
      keyOf={({ workspace }) => workspace ?? ''}
      empty="The last run reported no workspace."
      columns={[
        { name: 'Workspace', cell: ({ workspace }) => workspace ?? 'the organisation' },
        { name: 'State', cell: ({ state }) => <NamedState name={state} /> },
        { name: 'Commit', cell: (row) => shortCommit(row.commit_applied) },
        { name: 'Drifted fields', isNumber: true, cell: (row) => row.drift_count },
        { name: 'Message', cell: ({ message }) => message ?? '' },
      ]}
    />
  );
}

function History({ owner }: { readonly owner: string }) {
  const [page, setPage] = useState(0);
  const query = { owner, page_size: 10, current_page: page };
  const revisions = useReply('/admin/v2/gatewright/sync/revisions', { query, everyMs: refreshMs });
  return (
    <Section title="History" about="The last 50 runs that changed something.">
      <Show loaded={revisions}>
        {({ data, has_more, total }) => (
          <>
            <Table
              caption={`Revisions of ${owner}`}
              rows={data}
              keyOf={({ number }) => String(number)}
              empty="No run has changed anything yet."
              columns={[
                { name: 'Revision', cell: (row) => <RevisionLink owner={owner} row={row} /> },
                { name: 'Commit', cell: ({ commit }) => shortCommit(commit) },
                { name: 'Result', cell: ({ ending }) => <NamedState name={ending} /> },
                { name: 'Changes', isNumber: true, cell: (row) => row.change_count },
                { name: 'Finished', cell: (row) => <Ago at={row.finished_at} /> },
              ]}
            />
            <Pages page={page} hasMore={has_more} total={total} onPage={setPage} />
          </>
        )}
      </Show>
    </Section>
  );
}

function RevisionLink({ owner, row }: { readonly owner: string; readonly row: Revision }) {
  return <a href={`#/sync/${encodeURIComponent(owner)}/${row.number}`}>{row.number}</a>;
}

/** The first characters of a commit, as Git shows them. */
function shortCommit(commit: string | null | undefined): string {
  if (commit === null || commit === undefined) return '–';
  return commit.replace(/^sha256:/, '').slice(0, 10);
}
