/** Shows rows of the log as a table; its names narrow the list to themselves. */

import { workspace } from '../../api/client.ts';
import { addressWith } from '../../parts/query-fields.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import {
  formatCount,
  formatDollars,
  formatDuration,
  NamedState,
  Short,
  ShortAt,
  StatusCode,
} from '../../parts/text.tsx';
import { calledName, type LogRow } from './log-row.ts';

const dash = <span class="quiet">–</span>;

const columns: readonly Column<LogRow>[] = [
  {
    name: 'Ended',
    cell: ({ id, ended_at }) => (
      <a href={`#/logs/${id}`}>
        <ShortAt at={ended_at} />
      </a>
    ),
  },
  { name: 'Key', cell: (row) => <KeyName row={row} /> },
  { name: 'Provider', cell: ({ provider }) => <Narrowing name="provider" value={provider} /> },
  { name: 'Model or tool', cell: (row) => <Called row={row} /> },
  { name: 'Status', cell: (row) => <Outcome row={row} /> },
  { name: 'Tokens', isNumber: true, cell: tokens },
  {
    name: 'Cost',
    isNumber: true,
    cell: ({ cost }) => (cost === null ? dash : formatDollars(cost)),
  },
  { name: 'Duration', isNumber: true, cell: ({ duration_ms }) => formatDuration(duration_ms) },
  {
    name: 'Cache',
    cell: ({ cache_status: status }) =>
      status === null || status === 'DISABLED' ? dash : status.toLowerCase(),
  },
  { name: 'Guardrails', cell: (row) => <NamedState name={row.guardrail_verdict} /> },
];

const workspaceColumn: Column<LogRow> = {
  name: 'Workspace',
  cell: ({ workspace_slug: slug }) => (slug === null ? dash : <Short text={slug} />),
};

export function LogTable({ rows }: { readonly rows: readonly LogRow[] }) {
  return (
    <div class="tight">
      <Table
        caption="Requests, newest first"
        rows={rows}
        keyOf={({ id }) => id}
        columns={workspace.value === '' ? columns.toSpliced(2, 0, workspaceColumn) : columns}
        empty="No request matches. Widen the time range or remove filters."
      />
    </div>
  );
}

function KeyName({ row }: { readonly row: LogRow }) {
  const { api_key_id: id, api_key_name: name } = row;
  if (id === null) return dash;
  return (
    <a href={addressWith('key', id)}>
      <Short text={name ?? id} />
    </a>
  );
}

function Narrowing({ name, value }: { readonly name: string; readonly value: string | null }) {
  return value === null ? (
    dash
  ) : (
    <a href={addressWith(name, value)}>
      <Short text={value} />
    </a>
  );
}

function Called({ row }: { readonly row: LogRow }) {
  if (row.mcp_server !== null) {
    return (
      <a href={addressWith('server', row.mcp_server)}>
        <Short text={calledName(row)} />
      </a>
    );
  }
  if (row.model === null) return <Short text={calledName(row)} />;
  return <Narrowing name="model" value={row.model} />;
}

function Outcome({ row: { status, error_code } }: { readonly row: LogRow }) {
  return (
    <>
      <StatusCode status={status} /> {error_code !== null && <code>{error_code}</code>}
    </>
  );
}

function tokens({ input_tokens: input, output_tokens: output }: LogRow) {
  if (input === null && output === null) return dash;
  const text = `${formatCount(input ?? 0)} in, ${formatCount(output ?? 0)} out`;
  return <span title={text}>{formatCount((input ?? 0) + (output ?? 0))}</span>;
}
