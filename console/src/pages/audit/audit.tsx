/** Lists who changed what and when, newest first, with the proof that the list is complete. */
import { useState } from 'preact/hooks';
import type { BodyOf } from '../../api/client.ts';
import { useReply } from '../../api/use-reply.ts';
import { nameOfWorkspace } from '../../api/workspaces.ts';
import { ChoiceField, Filters, SearchField } from '../../parts/fields.tsx';
import { Page, Show } from '../../parts/page.tsx';
import { type Column, CursorPages, Table } from '../../parts/table.tsx';
import { Ago } from '../../parts/text.tsx';
import { changeQuery, queryOf } from '../../routing/routes.ts';
import { Chain } from './chain.tsx';
import { EntryDialog } from './entry.tsx';

export type Entry = BodyOf<'/v1/audit-logs'>['data'][number];
/** The same entry with its place in the chain. */
export type AuditRecord = BodyOf<'/v1/audit-logs'>['records'][number];

const pageSize = 50;

const actions = [
  'create',
  'update',
  'delete',
  'rotate',
  'reset',
  'expire',
  'read',
  'refuse',
  'bind',
  'release',
  'suspend',
  'resume',
];
const actors = ['service_account', 'api_key', 'user', 'job', 'system'];
const kinds = [
  'ApiKey',
  'Config',
  'Credential',
  'Deployment',
  'Guardrail',
  'Integration',
  'LogExport',
  'McpIntegration',
  'McpServer',
  'Organisation',
  'Prompt',
  'Provider',
  'RateLimitPolicy',
  'SecretReference',
  'ServiceAccount',
  'SyncOwner',
  'UsageLimitPolicy',
  'User',
  'UserInvite',
  'UserSession',
  'Workspace',
  'WorkspaceMember',
];

/** Members of the page's address that filter the list, under the names of the API. */
const filterNames = ['action', 'resource_type', 'resource_id', 'user_type', 'actor_id'] as const;

export default function Audit() {
  const query = queryOf();
  const filters = Object.fromEntries(filterNames.map((name) => [name, query.get(name) ?? '']));
  const range = { start_time: timeOf(query.get('from')), end_time: timeOf(query.get('to')) };
  const key = JSON.stringify([filters, range]);
  return (
    <Page
      title="Audit"
      about="Each change, each disclosure of a secret and the refused credentials, without secret values. Without a time, the last 31 days are shown."
    >
      <AuditFilters query={query} />
      <Entries key={key} query={{ ...filters, ...range }} />
    </Page>
  );
}

/** The field's local time in RFC 3339; empty for none. */
function timeOf(local: string | null): string {
  const date = new Date(local ?? '');
  return Number.isNaN(date.getTime()) ? '' : date.toISOString();
}

const choicesOf = (names: readonly string[]) =>
  [['', 'All'], ...names.map((name) => [name, name.replace('_', ' ')])] as [string, string][];

function AuditFilters({ query }: { readonly query: URLSearchParams }) {
  const filter = (name: string) => ({
    value: query.get(name) ?? '',
    onValue: (value: string) => changeQuery({ [name]: value }),
  });
  return (
    <Filters>
      <ChoiceField label="Action" choices={choicesOf(actions)} {...filter('action')} />
      <ChoiceField label="Kind" choices={choicesOf(kinds)} {...filter('resource_type')} />
      <SearchField label="Id of the resource" {...filter('resource_id')} />
      <ChoiceField label="Kind of actor" choices={choicesOf(actors)} {...filter('user_type')} />
      <SearchField label="Id of the actor" {...filter('actor_id')} />
      <SearchField label="From (your time)" type="datetime-local" {...filter('from')} />
      <SearchField label="To (your time)" type="datetime-local" {...filter('to')} />
    </Filters>
  );
}

function Entries({ query }: { readonly query: Readonly<Record<string, string>> }) {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const [chosen, setChosen] = useState<Entry | null>(null);
  const entries = useReply('/v1/audit-logs', {
    query: { ...query, page_size: pageSize, cursor: cursors.at(-1) },
  });
  return (
    <Show loaded={entries}>
      {({ data, records, next_cursor: next }) => (
        <>
          <Table
            caption="Audit entries"
            columns={columnsOf(setChosen)}
            rows={data}
            keyOf={({ id }) => id}
            empty="No entry matches these filters."
          />
          <CursorPages cursors={cursors} next={next} onCursors={setCursors} />
          <Chain records={records} />
          {chosen !== null && (
            <EntryDialog
              entry={chosen}
              record={records.find(({ id }) => id === chosen.id)}
              onClose={() => setChosen(null)}
            />
          )}
        </>
      )}
    </Show>
  );
}

const columnsOf = (onOpen: (entry: Entry) => void): readonly Column<Entry>[] => [
  { name: 'Time', cell: ({ created_at: at }) => <Ago at={at} /> },
  {
    name: 'Action',
    cell: (entry) => {
      const text = `${entry.action} ${entry.resource_type}`;
      return (
        <button type="button" aria-label={`${text}: details`} onClick={() => onOpen(entry)}>
          {entry.action}…
        </button>
      );
    },
  },
  { name: 'Kind', cell: ({ resource_type: kind }) => kind },
  {
    name: 'Resource',
    cell: ({ resource_id: id }) => (id === '' ? <Ago at={null} /> : <code>{id}</code>),
  },
  {
    name: 'By',
    cell: ({ actor_type: type, actor_id: id }) => (
      <>
        {type.replace('_', ' ')}
        <br />
        <code class="quiet">{id}</code>
      </>
    ),
  },
  {
    name: 'Workspace',
    cell: ({ workspace_id: id }) => (id === null || id === '' ? '–' : nameOfWorkspace(id)),
  },
  { name: 'Fields', cell: ({ metadata }) => fieldsOf(metadata) },
];

/** The names of the changed fields, and a mark where somebody changed what sync manages. */
function fieldsOf(metadata: Entry['metadata']): string {
  const { fields, unmanaged_edit: isUnmanaged } = metadata as Record<string, unknown>;
  const names = Array.isArray(fields) ? fields.join(', ') : '';
  return isUnmanaged === true ? `${names} (not by sync, which manages it)` : names;
}
