/** Draws when the parts of a request happened, as far as the log has their times. */
import { Table } from '../../parts/table.tsx';
import { formatDuration } from '../../parts/text.tsx';
import { isHit, type LogRow } from './log-row.ts';

interface Span {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export function Waterfall({ row }: { readonly row: LogRow }) {
  const isBad = row.status >= 400;
  return (
    <div class="waterfall">
      <Table
        caption="Parts of the request over time"
        rows={spansOf(row)}
        keyOf={({ name }) => name}
        empty=""
        columns={[
          { name: 'Part', cell: ({ name }) => name },
          { name: 'From', isNumber: true, cell: ({ fromMs }) => formatDuration(fromMs) },
          {
            name: 'Took',
            isNumber: true,
            cell: ({ fromMs, toMs }) => formatDuration(toMs - fromMs),
          },
          {
            name: 'Drawing',
            cell: (span) => <Bar span={span} wholeMs={row.duration_ms} isBad={isBad} />,
          },
        ]}
      />
    </div>
  );
}

function spansOf(row: LogRow): readonly Span[] {
  const { duration_ms: end, first_byte_ms: firstByte } = row;
  const whole = { name: 'Whole request', fromMs: 0, toMs: end };
  if (firstByte === null) return [whole];
  return [
    whole,
    { name: waitName(row), fromMs: 0, toMs: firstByte },
    {
      name: row.is_stream ? 'Stream to the caller' : 'Rest of the response',
      fromMs: firstByte,
      toMs: end,
    },
  ];
}

/** Says what happened before the first byte, which the log times as one. */
function waitName(row: LogRow): string {
  const steps = [
    Object.keys(row.guardrails).length > 0 ? 'guardrails' : '',
    'queue',
    row.earlier_attempts.length > 0
      ? `${row.earlier_attempts.length + 1} provider attempts`
      : isHit(row)
        ? 'cache'
        : row.mcp_server === null
          ? 'provider'
          : 'MCP server',
  ].filter((step) => step !== '');
  return `Until the first byte: ${steps.join(', ')}`;
}

interface BarProps {
  readonly span: Span;
  readonly wholeMs: number;
  readonly isBad: boolean;
}

function Bar({ span: { fromMs, toMs }, wholeMs, isBad }: BarProps) {
  const scale = 100 / Math.max(1, wholeMs);
  const width = Math.max(0.5, (toMs - fromMs) * scale);
  return (
    <svg
      class={isBad ? 'bad' : ''}
      viewBox="0 0 100 1"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <rect x={Math.min(99.5, fromMs * scale)} y="0" width={width} height="1" />
    </svg>
  );
}
