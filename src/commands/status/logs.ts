/** Defines the `logs` command, which lists logged model requests and MCP calls, and can follow new ones. */
import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '../../failure.ts';
import {
  type LoggedType,
  loggedTypes,
  RequestLogPage,
  type RequestLogRecord,
} from '../../model/logs/request-log.ts';
import type { AdminClient } from '../../sync/server/client.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import {
  optionalChoiceOption,
  outputForm,
  switchOption,
  textOption,
  wholeNumberOption,
} from '../shared/option.ts';
import type { PipeReaders } from '../shared/pipe-readers.ts';
import { formatTable } from '../shared/table.ts';
import { openClient, type ServerOptions, serverOptions } from '../sources/manifest-options.ts';
import { refusalAsFailure } from './suspend.ts';

interface LogsOptions extends Pick<ServerOptions, 'home' | 'credentials'> {
  readonly follow: boolean;
  readonly number: number | undefined;
  readonly workspace: string | undefined;
  readonly type: LoggedType | undefined;
  readonly provider: string | undefined;
  readonly model: string | undefined;
  readonly status: string | undefined;
  readonly trace: string | undefined;
  readonly output: 'text' | 'json' | 'wide';
}

const numberUsual = 20;
const numberMax = 1_000;
const pageSizeMax = 100;
/** Poll interval of `--follow`. */
const followMs = 1_000;
/** Rows are written some time after requests end, with different delays for each process. */
const lateMs = 30_000;

export const logs: Command<LogsOptions> = {
  examples: [
    ['gatewright logs', 'The latest of the last 24 hours'],
    ['gatewright logs --follow --status 4xx', 'Follow rejected requests'],
    ['gatewright logs --type mcp', 'Calls of tools, prompts and resources of MCP servers'],
    ['gatewright logs --trace order-17 -o json', 'Everything about the requests of one trace'],
  ],
  options: {
    follow: switchOption('Go on, and show further requests as they come', 'f'),
    number: {
      ...wholeNumberOption(
        'COUNT',
        { min: 1, max: numberMax, example: 50 },
        { describe: 'How many of the latest', fallback: String(numberUsual) },
      ),
      letter: 'n',
    },
    workspace: filter('NAME', 'Only of this workspace, by slug or id'),
    type: optionalChoiceOption(loggedTypes, {
      describe: 'Only requests to models, or only calls of MCP servers',
      fallback: 'both',
    }),
    provider: filter('NAME', 'Only to this provider, as the log names it'),
    model: filter('NAME', 'Only this model, by its name at the provider'),
    status: filter('STATUS', 'Only with this status: 429, or 4xx'),
    trace: filter('ID', 'Only of this trace'),
    output: outputForm(['text', 'json', 'wide']),
    home: serverOptions.home,
    credentials: serverOptions.credentials,
  },
  run: async (options, io) => {
    await using client = openClient({ ...options, owner: undefined }, io);
    // Opened first: a reader such as `head` may exit after the first rows.
    const readers = options.follow ? io.stdout.openReaders() : null;
    const latest = await read(client, options, io, null);
    show(latest, options, io, true);
    if (readers !== null) await follow(client, options, io, latest, readers);
    return 'success';
  },
};

function filter(placeholder: string, describe: string) {
  return textOption(placeholder, { describe, fallback: 'all' });
}

/** Polls for new rows; reports an outage once and continues after it. */
async function follow(
  client: AdminClient,
  options: LogsOptions,
  io: CommandIo,
  latest: readonly RequestLogRecord[],
  readers: PipeReaders,
): Promise<void> {
  const printed = new Map(latest.map((one) => [one.id, Date.parse(one.ended_at)]));
  // Uses only the server's time, independent of the local clock.
  let newest = Math.max(0, ...printed.values());
  let reported = '';
  while (!io.signal.aborted && !readers.haveExited()) {
    await delay(followMs, undefined, { signal: io.signal }).catch(() => undefined);
    try {
      const found = await read(client, options, io, newest - lateMs);
      const news = found.filter((one) => !printed.has(one.id));
      show(news, options, io, false);
      for (const { id, ended_at } of news) printed.set(id, Date.parse(ended_at));
      newest = Math.max(newest, ...printed.values());
      for (const [id, endedAt] of printed) if (endedAt < newest - 2 * lateMs) printed.delete(id);
      reported = '';
    } catch (error) {
      if (io.signal.aborted) return;
      if (!(error instanceof Failure) || error.kind !== 'unreachable') throw error;
      if (error.message !== reported) io.stderr.write(`${error.message}\n`);
      reported = error.message;
    }
  }
}

/** Oldest first: all rows since a time (at most one day ago), or the given number of latest rows. */
async function read(
  client: AdminClient,
  options: LogsOptions,
  { signal }: CommandIo,
  since: number | null,
): Promise<RequestLogRecord[]> {
  const wanted = since === null ? (options.number ?? numberUsual) : Number.POSITIVE_INFINITY;
  const { workspace: workspace_id, type, provider, model, status, trace: trace_id } = options;
  const from = since === null || since < 0 ? undefined : new Date(since).toISOString();
  const filters = { workspace_id, type, provider, model, status, trace_id };
  const time = { time_of_generation_min: from };
  const given = Object.entries({ ...filters, ...time }).filter(([, value]) => value !== undefined);
  const found: RequestLogRecord[] = [];
  let cursor: string | null = '';
  while (cursor !== null && found.length < wanted) {
    const page_size = String(Math.min(pageSizeMax, wanted - found.length));
    const query = new URLSearchParams([...(given as [string, string][]), ['page_size', page_size]]);
    if (cursor !== '') query.set('cursor', cursor);
    const path = `/admin/v2/logs?${query}`;
    const { body } = await refusalAsFailure(client.request({ method: 'GET', path, signal }));
    const page: RequestLogPage = parsed(body);
    found.push(...page.data);
    cursor = page.next_cursor;
  }
  return found.reverse();
}

function parsed(body: unknown): RequestLogPage {
  const page = RequestLogPage.safeParse(body);
  if (page.success) return page.data;
  const message = 'the server answers no log; is it a gatewright server of the same version?';
  throw new Failure('unreachable', message, { cause: page.error });
}

const headings = [
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
  return type === 'mcp' ? headings.map((heading) => own[heading] ?? heading) : headings;
}

function show(
  records: readonly RequestLogRecord[],
  { output, follow, type }: LogsOptions,
  { stdout }: CommandIo,
  isFirst: boolean,
): void {
  if (output === 'json') {
    if (follow) for (const record of records) stdout.writeJsonLine(record);
    else stdout.writeJson({ requests: records });
    return;
  }
  const isWide = output === 'wide';
  const rows = records.map((one) => [...cells(one), ...(isWide ? wideCells(one) : [])]);
  if (isFirst && rows.length === 0 && !follow) stdout.write('No requests in the last 24 hours.\n');
  else if (isFirst)
    stdout.write(formatTable([[...headingsOf(type), ...(isWide ? wideHeadings : [])], ...rows]));
  else if (rows.length > 0) stdout.write(formatTable(rows));
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
