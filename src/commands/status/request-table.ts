/** Formats logged requests as the rows of a table. */
import type { LoggedType, RequestLogRecord } from '../../model/logs/request-log.ts';
import { formatTable } from '../shared/table.ts';

const usualHeadings = [
  'ENDED',
  'STATUS',
  'ERROR',
  'WORKSPACE',
  'KEY',
  'MS',
  'PROVIDER',
  'MODEL',
  'TOKENS',
  'COST',
  'TRACE',
];
const wideHeadings = [
  'ANSWERED BY',
  'FIRST MS',
  'CACHE',
  'GUARDRAILS',
  'RETRIES',
  'TARGET',
  'EARLIER',
  'DROPPED',
  'KEY ID',
];

/** Calls of MCP servers have a server and a name in place of a provider and a model. */
function headingsOf(type: LoggedType | undefined): readonly string[] {
  const own: Readonly<Record<string, string>> = { PROVIDER: 'SERVER', MODEL: 'NAME' };
  return type === 'mcp' ? usualHeadings.map((heading) => own[heading] ?? heading) : usualHeadings;
}

/** With headings. */
export function formatRequests(
  records: readonly RequestLogRecord[],
  isWide: boolean,
  type: LoggedType | undefined,
): string {
  const headings = [...headingsOf(type), ...(isWide ? wideHeadings : [])];
  return formatTable([headings, ...rowsOf(records, isWide)]);
}

/** Without headings. */
export function formatFurtherRequests(
  records: readonly RequestLogRecord[],
  isWide: boolean,
): string {
  return formatTable(rowsOf(records, isWide));
}

function rowsOf(records: readonly RequestLogRecord[], isWide: boolean): string[][] {
  return records.map((one) => [...cells(one), ...(isWide ? wideCells(one) : [])]);
}

const none = '-';

function cells(one: RequestLogRecord): string[] {
  const tokens = one.input_tokens === null ? none : `${one.input_tokens}+${one.output_tokens}`;
  const cost = one.cost === null ? none : one.cost.toFixed(6);
  const model = one.model ?? one.requested_model ?? one.mcp_name ?? none;
  return [
    one.ended_at,
    String(one.status),
    one.error_code ?? none,
    one.workspace_slug ?? one.workspace_id ?? none,
    one.api_key_name ?? one.api_key_id ?? none,
    String(one.duration_ms),
    one.provider ?? one.mcp_server ?? none,
    model,
    tokens,
    one.is_estimated ? `~${cost}` : cost,
    one.trace_id,
  ];
}

function wideCells(one: RequestLogRecord): string[] {
  return [
    one.answered_model ?? one.model ?? none,
    String(one.first_byte_ms ?? none),
    one.cache_status ?? none,
    one.guardrail_verdict ?? none,
    String(one.retries),
    one.target_selection === null
      ? (one.target_path ?? none)
      : `${one.target_path} (${one.target_selection})`,
    earlier(one),
    one.dropped_members.join(', ') || none,
    one.api_key_id ?? none,
  ];
}

/** Earlier charged attempts of a request: target, outcome and dollars. */
function earlier({ earlier_attempts }: RequestLogRecord): string {
  if (earlier_attempts.length === 0) return none;
  const attempts = earlier_attempts.map(({ provider, model, status, cost }) => {
    const who = [provider, model].filter((one) => one !== null).join('/');
    return `${who} ${status} ${cost.toFixed(6)}`;
  });
  return attempts.join(', ');
}
