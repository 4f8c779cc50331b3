/** Lists the API keys with their states, limits, spending, last use, end and rotation. */
import { useMemo, useState } from 'preact/hooks';
import type { BodyOf } from '../../api/client.ts';
import { mayDo, session } from '../../api/session.ts';
import { useReply } from '../../api/use-reply.ts';
import { nameOfWorkspace } from '../../api/workspaces.ts';
import { ChoiceField, Filters, SearchField } from '../../parts/fields.tsx';
import {
  budgetText,
  formatAmount,
  formatBare,
  rateText,
  usedOf,
  windowStartOf,
} from '../../parts/limits.tsx';
import { Page, Problem, Show } from '../../parts/page.tsx';
import { openPage } from '../../parts/query-fields.tsx';
import { type Column, NumberedPages, Table } from '../../parts/table.tsx';
import { Ago, formatDollars, NamedState, Share } from '../../parts/text.tsx';
import { changeQuery, queryOf } from '../../routing/routes.ts';
import { CreateKey } from './create-key.tsx';
import { type Key, rotationText, stateOf } from './key-texts.ts';

type Group = BodyOf<'/v1/analytics/groups/{group}'>['data'][number];
/** The aggregate of one key. */
type Figures = Extract<Group, { cost: number }>;

const pageSize = 50;
const refreshMs = 30_000;
const hourMs = 3_600_000;

const types = [
  ['', 'All'],
  ['workspace-service', 'Service, of a workspace'],
  ['workspace-user', 'Person, of a workspace'],
  ['organisation-service', 'Service, of the organisation'],
  ['organisation-user', 'Person, of the organisation'],
] as const;

const statuses = [
  ['', 'All'],
  ['active', 'active'],
  ['exhausted', 'exhausted'],
  ['expired', 'expired'],
] as const;

export default function Keys() {
  const query = queryOf();
  const page = Number(query.get('page') ?? 0);
  const [type, subType] = (query.get('type') ?? '').split('-');
  const keys = useReply('/v1/api-keys', {
    everyMs: refreshMs,
    query: {
      page_size: pageSize,
      current_page: page,
      name: query.get('name') ?? '',
      status: query.get('status') ?? '',
      type,
      sub_type: subType,
    },
  });
  const [isCreating, setCreating] = useState(false);
  const mayCreate = session.value?.scopes.some((scope) => /^\*$|_api_keys\.create$/.test(scope));
  return (
    <Page
      title="Keys"
      about="API keys with which programs and people call models, MCP servers and the Admin API."
      actions={
        mayCreate === true && (
          <button type="button" class="main" onClick={() => setCreating(true)}>
            Create a key…
          </button>
        )
      }
    >
      {isCreating && <CreateKey onClose={() => setCreating(false)} onDone={keys.reload} />}
      <KeyFilters query={query} />
      <Show loaded={keys}>
        {({ data, total }) => (
          <>
            <KeyTable keys={data} />
            <NumberedPages page={page} pageSize={pageSize} total={total} onPage={openPage} />
          </>
        )}
      </Show>
    </Page>
  );
}

function KeyFilters({ query }: { readonly query: URLSearchParams }) {
  const filter = (name: string) => ({
    value: query.get(name) ?? '',
    onValue: (value: string) => changeQuery({ [name]: value, page: '' }),
  });
  return (
    <Filters>
      <SearchField label="Name" hint="part of the name" {...filter('name')} />
      <ChoiceField label="State" choices={statuses} {...filter('status')} />
      <ChoiceField label="Type" choices={types} {...filter('type')} />
    </Filters>
  );
}

function KeyTable({ keys }: { readonly keys: readonly Key[] }) {
  const ids = keys.map(({ id }) => id);
  const { figures, monthStart, error } = useMonth(ids);
  const columns: readonly Column<Key>[] = [
    {
      name: 'Name',
      cell: ({ id, name, key }) => (
        <>
          <a href={`#/keys/${id}`}>{name}</a>
          <br />
          <code class="quiet">{key}</code>
        </>
      ),
    },
    { name: 'State', cell: (key) => <NamedState name={stateOf(key)} /> },
    {
      name: 'Type',
      cell: ({ type, workspace_id: workspace }) => (
        <>
          {type.endsWith('user') ? 'Person' : 'Service'}
          <br />
          <span class="quiet">{nameOfWorkspace(workspace)}</span>
        </>
      ),
    },
    { name: 'Limits', cell: (key) => <Limits of={key} /> },
    {
      name: 'This month',
      cell: (key) => <Month of={key} figures={figures} start={monthStart} />,
    },
    { name: 'Last used', cell: ({ last_used_at: at }) => <LastUse at={at} /> },
    { name: 'Expires', cell: ({ expires_at: at }) => (at === null ? 'never' : <Ago at={at} />) },
    { name: 'Rotation', cell: (key) => <Rotation of={key} /> },
  ];
  return (
    <>
      {error !== null && <Problem error={error} />}
      <Table
        caption="API keys"
        columns={columns}
        rows={keys}
        keyOf={({ id }) => id}
        empty="No key matches these filters."
      />
    </>
  );
}

/** The logged figures of these keys since the first of the month, in UTC. */
function useMonth(ids: readonly string[]) {
  const { start, range } = useMemo(() => {
    const now = new Date();
    const first = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
    const end = Math.ceil((now.getTime() + 1) / hourMs) * hourMs;
    const times = [first, end].map((ms) => new Date(ms).toISOString());
    const [time_of_generation_min, time_of_generation_max] = times;
    return { start: first, range: { time_of_generation_min, time_of_generation_max } };
  }, []);
  const { body, error } = useReply('/v1/analytics/groups/{group}', {
    parts: { group: 'api-keys' },
    query: { ...range, page_size: pageSize, api_key_ids: ids.join(',') },
    isOn: ids.length > 0 && mayDo('analytics.view'),
  });
  const rows: readonly Group[] = body?.data ?? [];
  const found = rows.filter((row): row is Figures => 'cost' in row);
  const figures = body === null ? null : new Map(found.map((row) => [String(row.value), row]));
  return { figures, monthStart: start, error };
}

function Limits({ of: { usage_limits: budget, rate_limits: rates } }: { readonly of: Key }) {
  if (budget === null && rates.length === 0) return <span class="quiet">none</span>;
  const texts = rates.map(rateText);
  if (budget !== null) texts.unshift(budgetText(budget));
  return (
    <>
      {texts.map((text) => (
        <div key={text}>{text}</div>
      ))}
    </>
  );
}

/** The month's cost; as a share of the budget where the budget's window is the month. */
function Month({
  of: key,
  figures,
  start,
}: {
  readonly of: Key;
  /** Null until they are loaded, and where the user may not view analytics. */
  readonly figures: ReadonlyMap<string, Figures> | null;
  readonly start: number;
}) {
  const { usage_limits: budget } = key;
  if (figures === null) return <Ago at={null} />;
  const used = figures.get(key.id) ?? { cost: 0, input_tokens: 0, output_tokens: 0, requests: 0 };
  if (budget === null) return <>{formatDollars(used.cost)}</>;
  const amount = usedOf(budget.type, used);
  const format = (value: number): string => formatBare(budget.type, value);
  const windowStart = windowStartOf(budget, key, Date.now());
  const isMonth = windowStart === start || windowStart === Date.parse(key.created_at);
  if (!isMonth || windowStart < start) return <>{formatAmount(budget.type, amount)}</>;
  return <Share used={amount} of={budget.credit_limit} format={format} />;
}

function LastUse({ at }: { readonly at: string | null | undefined }) {
  return at === null ? <span class="quiet">never</span> : <Ago at={at} />;
}

function Rotation({ of: key }: { readonly of: Key }) {
  const next = key.rotation_policy?.next_rotation_at;
  return (
    <>
      {rotationText(key)}
      {next != null && (
        <div class="quiet">
          due <Ago at={next} />
        </div>
      )}
    </>
  );
}
