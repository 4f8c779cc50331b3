/** Defines the `logs` command, which lists logged model requests and MCP calls, and can follow new ones. */
import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '../../failure.ts';
import {
  type GuardrailVerdict,
  guardrailVerdicts,
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
import { openClient, type ServerOptions, serverOptions } from '../sources/manifest-options.ts';
import { formatFurtherRequests, formatRequests } from './request-table.ts';
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
  readonly guardrail: string | undefined;
  readonly verdict: GuardrailVerdict | undefined;
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
    ['gatewright logs --guardrail no-secrets --verdict denied', 'What a guardrail has denied'],
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
    guardrail: filter('NAME', 'Only judged by this guardrail, by slug or id'),
    verdict: optionalChoiceOption(guardrailVerdicts, {
      describe: 'Only with this verdict of the guardrails, or of the one that is named',
      fallback: 'all',
    }),
    output: outputForm(['text', 'json', 'wide']),
    home: serverOptions.home,
    credentials: serverOptions.credentials,
  },
  run: async (options, io) => {
    await using client = openClient({ ...options, owner: undefined }, io);
    // Opened first: a reader such as `head` may exit after the first rows.
    const readers = options.follow ? io.stdout.openReaders() : null;
    const { found: latest, regions } = await read(client, options, io, null);
    show(latest, options, io, true);
    nameRegions(regions, io);
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
      const { found } = await read(client, options, io, newest - lateMs);
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
): Promise<{ found: RequestLogRecord[]; regions: readonly string[] }> {
  const wanted = since === null ? (options.number ?? numberUsual) : Number.POSITIVE_INFINITY;
  const { workspace: workspace_id, type, provider, model, status, trace: trace_id } = options;
  const { guardrail, verdict: guardrail_verdict } = options;
  const from = since === null || since < 0 ? undefined : new Date(since).toISOString();
  const filters = {
    workspace_id,
    type,
    provider,
    model,
    status,
    trace_id,
    guardrail,
    guardrail_verdict,
  };
  const time = { time_of_generation_min: from };
  const given = Object.entries({ ...filters, ...time }).filter(([, value]) => value !== undefined);
  const found: RequestLogRecord[] = [];
  let regions: readonly string[] = [];
  let cursor: string | null = '';
  while (cursor !== null && found.length < wanted) {
    const page_size = String(Math.min(pageSizeMax, wanted - found.length));
    const query = new URLSearchParams([...(given as [string, string][]), ['page_size', page_size]]);
    if (cursor !== '') query.set('cursor', cursor);
    const path = `/admin/v2/logs?${query}`;
    const { body } = await refusalAsFailure(client.request({ method: 'GET', path, signal }));
    const page: RequestLogPage = parsed(body);
    found.push(...page.data);
    regions = page.regions;
    cursor = page.next_cursor;
  }
  return { found: found.reverse(), regions };
}

/** Says where further rows are, so that a short list is not taken for all requests. */
function nameRegions(regions: readonly string[], { stderr }: CommandIo): void {
  if (regions.length === 0) return;
  stderr.write(
    `Further requests are logged in ${regions.join(', ')}: run \`gatewright region-logs\` in the region.\n`,
  );
}

function parsed(body: unknown): RequestLogPage {
  const page = RequestLogPage.safeParse(body);
  if (page.success) return page.data;
  const message = 'the server answers no log; is it a gatewright server of the same version?';
  throw new Failure('unreachable', message, { cause: page.error });
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
  if (isFirst && records.length === 0 && !follow)
    stdout.write('No requests in the last 24 hours.\n');
  else if (isFirst) stdout.write(formatRequests(records, isWide, type));
  else if (records.length > 0) stdout.write(formatFurtherRequests(records, isWide));
}
