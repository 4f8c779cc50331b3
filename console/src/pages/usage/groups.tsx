/** Sums up usage by a property, in an order that the reader chooses. */
import { useState } from 'preact/hooks';
import type { BodyOf, Query } from '../../api/client.ts';
import type { ReplyState } from '../../api/use-reply.ts';
import { useReply } from '../../api/use-reply.ts';
import { Show } from '../../parts/page.tsx';
import { type Column, NumberedPages, Table } from '../../parts/table.tsx';
import {
  Ago,
  formatCount,
  formatDollars,
  formatDuration,
  formatShort,
  Short,
} from '../../parts/text.tsx';
import { changeQuery, queryOf } from '../../routing/routes.ts';
import { dimensionOf, logsAddress } from './dimensions.ts';
import { useNames } from './names.ts';

type Groups = Extract<BodyOf<'/v1/analytics/groups/{group}'>, { total: number }>;
type Row = Groups['data'][number];

const pageSize = 50;
const centsPerDollar = 100;

interface GroupsProps {
  readonly filter: Query;
  readonly usualRange: string;
  /** Name of the key to which the page is narrowed. */
  readonly keyName: string | undefined;
}

/** Groups by the dimension of the page's query; rows with the highest cost come first. */
export function UsageGroups({ filter, usualRange, keyName }: GroupsProps) {
  const page = queryOf();
  const dimension = dimensionOf(page.get('by') ?? '');
  const metadataKey = page.get('metadata') ?? '';
  const isOfMetadata = dimension.name === 'metadata';
  const order = {
    order_by: page.get('sort') ?? 'cost',
    order_by_type: page.get('order') ?? 'desc',
  };
  const [number, setNumber] = useState(0);
  const query = { ...filter, ...order, page_size: pageSize, current_page: number };
  const byProperty = useReply('/v1/analytics/groups/{group}', {
    query,
    parts: { group: dimension.name },
    isOn: !isOfMetadata,
  });
  const byMetadata = useReply('/v1/analytics/groups/metadata/{key}', {
    query,
    parts: { key: metadataKey },
    isOn: isOfMetadata && metadataKey !== '',
  });
  if (isOfMetadata && metadataKey === '') {
    return <p class="quiet">Enter a metadata key, such as environment.</p>;
  }
  const loaded = (isOfMetadata ? byMetadata : byProperty) as ReplyState<Groups>;
  return (
    <Show loaded={loaded}>
      {({ data, total }) => (
        <>
          <GroupTable rows={data} usualRange={usualRange} keyName={keyName} />
          <NumberedPages page={number} pageSize={pageSize} total={total} onPage={setNumber} />
        </>
      )}
    </Show>
  );
}

function GroupTable({
  rows,
  usualRange,
  keyName,
}: Omit<GroupsProps, 'filter'> & { readonly rows: readonly Row[] }) {
  const dimension = dimensionOf(queryOf().get('by') ?? '');
  const groupOf = (row: Row): string | null => {
    const value = row[dimension.field];
    return value === null || value === undefined ? null : String(value);
  };
  const values = rows.map(groupOf).filter((value) => value !== null);
  const names = useNames(dimension.name, values);
  const nameOf = (id: string) =>
    names.get(id) ?? (id === queryOf().get('key') ? keyName : undefined) ?? id;
  const logsOf = (row: Row): string | null => {
    const value = groupOf(row);
    return value === null ? null : logsAddress(dimension, value, usualRange);
  };
  return (
    <Table
      caption={`Usage by ${dimension.text.toLowerCase()}`}
      rows={rows}
      keyOf={(row) => groupOf(row) ?? ''}
      empty="No request in this time range."
      columns={[
        {
          name: dimension.text,
          cell: (row) => <GroupName value={groupOf(row)} nameOf={nameOf} />,
        },
        ...figureColumns(),
        {
          name: 'Log',
          cell: (row) => {
            const address = logsOf(row);
            return address === null ? null : <a href={address}>Requests</a>;
          },
        },
      ]}
    />
  );
}

interface GroupNameProps {
  readonly value: string | null;
  readonly nameOf: (value: string) => string;
}

function GroupName({ value, nameOf }: GroupNameProps) {
  if (value === null) return <span class="quiet">none</span>;
  const name = <Short text={nameOf(value)} />;
  const address = dimensionOf(queryOf().get('by') ?? '').pageOf?.(value);
  return address === undefined ? name : <a href={address}>{name}</a>;
}

/** Figures of the groups are in cents and percent, unlike those of the summary. */
function figureColumns(): readonly Column<Row>[] {
  return [
    sorted('Cost', 'cost', ({ cost }) => formatDollars(Number(cost ?? 0) / centsPerDollar)),
    sorted('Requests', 'requests', ({ requests }) => formatCount(requests)),
    sorted('Errors', 'error_count', ({ error_count: errors }) => formatCount(Number(errors ?? 0))),
    sorted('Tokens', 'total_tokens', (row) => formatShort(Number(row.total_tokens ?? 0))),
    {
      name: 'Latency p99',
      isNumber: true,
      cell: (row) => formatDuration(row.p99_latency as number | null),
    },
    sorted(
      'Cache hits',
      'cache_hit_rate',
      (row) => `${Math.round(Number(row.cache_hit_rate ?? 0))} %`,
    ),
    {
      ...sorted('Last seen', 'last_seen', () => ''),
      isNumber: false,
      cell: (row) => <Ago at={row.last_seen as string | null} />,
    },
  ];
}

/** A second click on the heading turns the order round. */
function sorted(name: string, figure: string, cell: (row: Row) => string): Column<Row> {
  const page = queryOf();
  const isChosen = (page.get('sort') ?? 'cost') === figure;
  const isAscending = page.get('order') === 'asc';
  return {
    name,
    isNumber: true,
    cell,
    sort: {
      direction: !isChosen ? null : isAscending ? 'ascending' : 'descending',
      onSort: () =>
        changeQuery({
          sort: figure === 'cost' ? '' : figure,
          order: isChosen && !isAscending ? 'asc' : '',
        }),
    },
  };
}
