/** Sums requests grouped by keys, from the hourly totals when these suffice, else from the log. */
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { averageFeedback } from './feedback.ts';
import { verdictBy } from './request-logs.ts';
import { countColumns, type RequestCounts } from './request-totals.ts';

/** Inclusive bounds; null for none. */
export type Bounds = readonly [number | null, number | null];

/** Conditions on requests; an undefined one matches every request. */
export interface SumsFilter {
  /** Milliseconds since the epoch, both included. */
  readonly from: number;
  readonly to: number;
  readonly workspaceId: string | undefined;
  readonly provider: string | undefined;
  readonly model: string | undefined;
  /** Each list matches any of its elements. */
  readonly apiKeyIds: readonly string[] | undefined;
  readonly providers: readonly string[] | undefined;
  readonly models: readonly { readonly provider: string; readonly model: string }[] | undefined;
  readonly statuses: readonly number[] | undefined;
  readonly log: LogFilter | undefined;
}

/** Conditions that only the log can answer. */
export interface LogFilter {
  readonly traceIds: readonly string[] | undefined;
  readonly configIds: readonly string[] | undefined;
  readonly promptSlugs: readonly string[] | undefined;
  readonly cacheStatuses: readonly string[] | undefined;
  /** Any of these guardrails judged. */
  readonly guardrailIds: readonly string[] | undefined;
  /** Any of the values of each key. */
  readonly metadata: readonly { readonly key: string; readonly values: readonly string[] }[];
  readonly inputTokens: Bounds;
  readonly outputTokens: Bounds;
  readonly totalTokens: Bounds;
  readonly costUnits: Bounds;
  /** Bounds of the weighted average of feedback; requests without feedback do not match. */
  readonly feedback: Bounds;
}

type Column =
  | 'workspace_id'
  | 'api_key_id'
  | 'provider'
  | 'model'
  | 'status'
  | 'config_id'
  | 'prompt_slug'
  | 'guardrails'
  | 'guardrail_checks'
  | 'mcp_server'
  | 'mcp_tool';

/** Columns that the totals lack. `mcp_tool` is the server and the name of a called tool. */
const logColumns: readonly unknown[] = [
  'config_id',
  'prompt_slug',
  'guardrails',
  'guardrail_checks',
  'mcp_server',
  'mcp_tool',
];
/** Columns without a value for calls of MCP servers, which groups by them leave out. */
const modelColumns: readonly unknown[] = ['provider', 'model', 'config_id', 'prompt_slug'];

/** A grouping key: time steps in milliseconds, a column, or a metadata value. */
export type SumsKey = { readonly stepMs: number } | Column | { readonly metadata: string };

/** Figures by which sums can be sorted, as expressions on the columns of {@link sum}. */
const figureTerms = {
  requests: sql`requests`,
  cost: sql`cost_units`,
  total_tokens: sql`input_tokens + output_tokens`,
  avg_tokens: sql`(input_tokens + output_tokens) / NULLIF(requests - mcp_requests, 0)`,
  avg_input_tokens: sql`input_tokens / NULLIF(requests - mcp_requests, 0)`,
  avg_output_tokens: sql`output_tokens / NULLIF(requests - mcp_requests, 0)`,
  avg_latency: sql`duration_ms / requests`,
  success_rate: sql`(requests - errors) / requests`,
  error_count: sql`errors`,
  cache_hit_rate: sql`cache_hits / NULLIF(requests - mcp_requests, 0)`,
  last_seen: sql`lastAt`,
  first_seen: sql`firstAt`,
} as const satisfies Record<string, RawBuilder<unknown>>;
export type SortingFigure = keyof typeof figureTerms;
export const sortingFigures = Object.keys(figureTerms) as readonly SortingFigure[];

export interface FigureOrder {
  /** `shared` sorts by the grouping keys. */
  readonly figure: SortingFigure | 'shared';
  readonly isAscending: boolean;
}

export interface SumsQuery {
  readonly filter: SumsFilter;
  readonly by: readonly SumsKey[];
  /** Whether to use the log in any case: only it has retries and users. */
  readonly usesLog: boolean;
  /** Whether to leave out calls of MCP servers, as groups by their values do. */
  readonly onlyModels?: boolean;
  /** By grouping keys, by most requests, by highest cost, or by a figure. */
  readonly order: 'shared' | 'requests' | 'cost' | FigureOrder;
  readonly limit: number;
  readonly offset: number;
  /** Values of the only grouping key to which the groups are restricted; undefined for all. */
  readonly among?: readonly (string | number | null)[];
}

export interface RequestSums extends RequestCounts {
  /** Requests with a status of 400 or above, and failed calls of MCP servers. */
  readonly errors: number;
  /** Requests that succeeded after a retry; 0 from totals. */
  readonly retried: number;
  /** Number of distinct `_user` metadata values; 0 from totals. */
  readonly users: number;
  /** Minimum and maximum of single requests; null from totals. */
  readonly tokensLeast: number | null;
  readonly tokensMost: number | null;
  readonly costUnitsLeast: number | null;
  readonly costUnitsMost: number | null;
  /** Time of the first and last request in milliseconds since the epoch; to the hour from totals. */
  readonly firstAt: number | null;
  readonly lastAt: number | null;
  /** Values of the grouping keys in the order of the query. */
  readonly shared: readonly (string | number | null)[];
}

/** Whether the totals do not suffice. */
export function needsLog({ filter, by, usesLog }: SumsQuery): boolean {
  const isOfLog = (key: SumsKey) =>
    logColumns.includes(key) || (typeof key === 'object' && 'metadata' in key);
  return filter.log !== undefined || usesLog || by.some(isOfLog);
}

export async function sum(
  db: Db,
  organisationId: string,
  query: SumsQuery,
): Promise<RequestSums[]> {
  const { by, order, limit, offset } = query;
  const isOfLog = needsLog(query);
  const names = by.map((_, at) => sql.ref(`shared_${at}`));
  const keys = by.map((key, at) => sql`${keyExpression(key, isOfLog)} AS ${names[at]}`);
  const at = sql.ref(isOfLog ? 'ended_at' : 'began_at');
  // Sorted in an outer query: some engines cannot sort groups by an expression on aggregates.
  const { rows } = await sql<Record<string, string | number | null>>`
    SELECT * FROM (
      SELECT ${sql.join([...keys, ...figures(isOfLog, query.filter)])},
        MIN(${at}) AS firstAt, MAX(${at}) AS lastAt
      FROM ${sourceOf(organisationId, query)}
      ${names.length === 0 ? sql`` : sql`GROUP BY ${sql.join(names)}`}
    ) AS sums
    ${names.length === 0 ? sql`` : sql`ORDER BY ${sql.join([...orderTerms(order), ...names])}`}
    LIMIT ${limit} OFFSET ${offset}`.execute(db);
  return rows.map((row) => ({
    ...(row as unknown as RequestSums),
    firstAt: row.firstAt === null ? null : Number(row.firstAt),
    lastAt: row.lastAt === null ? null : Number(row.lastAt),
    shared: by.map((_, index) => row[`shared_${index}`] ?? null),
  }));
}

/** Terms of an order, by the columns of {@link sum}. */
export function orderTerms(order: SumsQuery['order']): RawBuilder<unknown>[] {
  if (order === 'shared') return [];
  if (order === 'requests') return [sql`requests DESC`];
  if (order === 'cost') return [sql`cost_units DESC`, sql`requests DESC`];
  const { figure, isAscending } = order;
  const term = figure === 'shared' ? sql.ref('shared_0') : figureTerms[figure];
  return [sql`${term} ${isAscending ? sql`ASC` : sql`DESC`}`];
}

/** Number of groups of a query without its limit. */
export async function count(db: Db, organisationId: string, query: SumsQuery): Promise<number> {
  const isOfLog = needsLog(query);
  const keys = query.by.map((key) => keyExpression(key, isOfLog));
  const { rows } = await sql<{ total: number }>`
    SELECT COUNT(*) AS total FROM (
      SELECT 1 AS one FROM ${sourceOf(organisationId, query)} GROUP BY ${sql.join(keys)}
    ) AS grouped`.execute(db);
  return Number(rows[0]!.total);
}

/** The SQL expression of a grouping key. */
export function keyExpression(key: SumsKey, isOfLog: boolean): RawBuilder<unknown> {
  // Engines compare only the first KiB of a text; the digest in front distinguishes longer ones.
  if (key === 'mcp_tool') return sql`CONCAT(mcp_server, '/', mcp_name)`;
  if (key === 'guardrails' || key === 'guardrail_checks') {
    return sql`CONCAT(MD5(${sql.ref(key)}), ${sql.ref(key)})`;
  }
  if (typeof key === 'string') return sql.ref(key);
  if ('metadata' in key) return metadataOf(key.metadata);
  const at = sql.ref(isOfLog ? 'ended_at' : 'began_at');
  return sql`${at} - ${at} % ${key.stepMs}`;
}

/** A metadata value as text. Callers reject keys with quotes or backslashes, which have a meaning in JSON paths. */
function metadataOf(key: string): RawBuilder<unknown> {
  const path = `$."${key}"`;
  return sql`JSON_UNQUOTE(JSON_EXTRACT(metadata, ${path})) COLLATE utf8mb4_bin`;
}

type LogExpressions = Partial<Record<keyof RequestCounts, RawBuilder<unknown>>>;

const logExpressions: LogExpressions = {
  requests: sql`1`,
  unlogged_requests: sql`0`,
  mcp_requests: sql`mcp_server IS NOT NULL`,
  mcp_errors: sql`mcp_server IS NOT NULL AND (status >= 400 OR error_code IS NOT NULL)`,
  cache_hits: sql`cache_status IN ('HIT', 'SEMANTIC HIT')`,
  guardrail_passed: sql`guardrail_verdict = 'passed'`,
  guardrail_failed: sql`guardrail_verdict = 'failed'`,
  guardrail_monitored: sql`guardrail_verdict = 'monitored'`,
  guardrail_denied: sql`guardrail_verdict = 'denied'`,
};

/** Verdicts of the guardrails of a filter, of several the worst, in place of those of the request. */
function verdictExpressions(ids: readonly string[] | undefined): LogExpressions {
  if (ids === undefined || ids.length === 0) return {};
  const isAny = (verdict: string) => anyOf(ids.map((id) => sql`${verdictBy(id)} = ${verdict}`));
  const [denied, failed, monitored] = [isAny('denied'), isAny('failed'), isAny('monitored')];
  return {
    guardrail_denied: denied,
    guardrail_failed: sql`${failed} AND NOT ${denied}`,
    guardrail_monitored: sql`${monitored} AND NOT ${failed} AND NOT ${denied}`,
    guardrail_passed: sql`NOT ${monitored} AND NOT ${failed} AND NOT ${denied}`,
  };
}

/**
 * The same columns from either source; expressions replace columns that the log lacks. Sums are of floating-point
 * numbers, which are exact to 2^53 and take engines half the time of decimal ones.
 */
export function figures(
  isOfLog: boolean,
  filter: SumsFilter,
  isWanted: (name: string) => boolean = () => true,
): RawBuilder<unknown>[] {
  const expressions = { ...logExpressions, ...verdictExpressions(filter.log?.guardrailIds) };
  const termOf = (name: keyof RequestCounts): RawBuilder<unknown> => {
    if (!isOfLog) return sql.ref(name);
    const bound = /^within_(\d+)_ms$/.exec(name);
    if (bound !== null) return sql`duration_ms <= ${Number(bound[1])}`;
    return expressions[name] ?? sql.ref(name);
  };
  const asNumber = (value: RawBuilder<unknown>) => sql`COALESCE(SUM((${value}) + 0e0), 0)`;
  const requests = termOf('requests');
  const failedCalls = termOf('mcp_errors');
  const retried = isOfLog ? sql`retries > 0 AND status < 400` : sql`0`;
  const users = isOfLog ? sql`COUNT(DISTINCT ${metadataOf('_user')})` : sql`0`;
  const errors = sql`CASE WHEN status >= 400 THEN ${requests} ELSE ${failedCalls} END`;
  const all: (readonly [string, RawBuilder<unknown>])[] = [
    ...countColumns.map((name) => [name, asNumber(termOf(name))] as const),
    ['errors', asNumber(errors)],
    ['retried', asNumber(retried)],
    ['users', users],
    ...extremes(isOfLog),
  ];
  return all
    .filter(([name]) => isWanted(name))
    .map(([name, value]) => sql`${value} AS ${sql.ref(name)}`);
}

function extremes(isOfLog: boolean): (readonly [string, RawBuilder<unknown>])[] {
  const asNumber = (value: RawBuilder<unknown>) =>
    isOfLog ? sql`CAST(${value} AS DOUBLE)` : sql`NULL`;
  return [
    ['tokensLeast', asNumber(sql`MIN(${totalTokens})`)],
    ['tokensMost', asNumber(sql`MAX(${totalTokens})`)],
    ['costUnitsLeast', asNumber(sql`MIN(${cost})`)],
    ['costUnitsMost', asNumber(sql`MAX(${cost})`)],
  ];
}

const totalTokens = sql`COALESCE(input_tokens, 0) + COALESCE(output_tokens, 0)`;
const cost = sql`COALESCE(cost_units, 0)`;

/** The rows that match a query: `table WHERE …`. */
export function sourceOf(organisationId: string, query: SumsQuery): RawBuilder<unknown> {
  const { filter } = query;
  const isOfLog = needsLog(query);
  const isOfTime = query.by.every((key) => typeof key === 'object' && 'stepMs' in key);
  const [table, at] = isOfLog ? ['request_logs', 'ended_at'] : ['request_totals', 'began_at'];
  const { workspaceId, provider, model, apiKeyIds, providers, models, statuses, log } = filter;
  const pairs = models?.map(
    ({ provider, model }) => sql`(provider = ${provider} AND model = ${model})`,
  );
  const conditions = [
    sql`organisation_id = ${organisationId}`,
    sql`${sql.ref(at!)} >= ${filter.from} AND ${sql.ref(at!)} <= ${filter.to}`,
    workspaceId === undefined ? undefined : sql`workspace_id = ${workspaceId}`,
    provider === undefined ? undefined : sql`provider = ${provider}`,
    model === undefined ? undefined : sql`model = ${model}`,
    oneOf(sql.ref('api_key_id'), apiKeyIds),
    oneOf(sql.ref('provider'), providers),
    pairs === undefined ? undefined : pairs.length === 0 ? sql`FALSE` : anyOf(pairs),
    oneOf(sql.ref('status'), statuses),
    // Unlogged requests have no values for other grouping keys.
    isOfLog || isOfTime ? undefined : sql`unlogged_requests = 0`,
    ...protocolConditions(query, isOfLog),
    query.among === undefined
      ? undefined
      : amongst(keyExpression(query.by[0]!, isOfLog), query.among),
    ...(log === undefined ? [] : logConditions(organisationId, log)),
  ];
  const given = conditions.filter((condition) => condition !== undefined);
  return sql`${sql.table(table!)} WHERE ${sql.join(given, sql` AND `)}`;
}

/** Groups of models have no calls of MCP servers, and groups of MCP servers and tools nothing else. */
function protocolConditions(
  { by, onlyModels = false }: SumsQuery,
  isOfLog: boolean,
): RawBuilder<unknown>[] {
  const conditions = [];
  if (onlyModels || by.some((key) => modelColumns.includes(key))) {
    conditions.push(isOfLog ? sql`mcp_server IS NULL` : sql`mcp_requests = 0`);
  }
  if (by.some((key) => key === 'mcp_server')) conditions.push(sql`mcp_server IS NOT NULL`);
  if (by.some((key) => key === 'mcp_tool')) {
    conditions.push(sql`mcp_server IS NOT NULL AND endpoint = 'tools/call'`);
  }
  return conditions;
}

function logConditions(
  organisationId: string,
  log: LogFilter,
): (RawBuilder<unknown> | undefined)[] {
  const { traceIds, configIds, promptSlugs, cacheStatuses, guardrailIds, metadata } = log;
  return [
    oneOf(sql.ref('trace_id'), traceIds),
    oneOf(sql.ref('config_id'), configIds),
    oneOf(sql.ref('prompt_slug'), promptSlugs),
    oneOf(sql.ref('cache_status'), cacheStatuses),
    guardrailIds?.length === 0
      ? sql`FALSE`
      : guardrailIds && anyOf(guardrailIds.map((id) => sql`${verdictBy(id)} <> ''`)),
    ...metadata.map(({ key, values }) => oneOf(metadataOf(key), values)),
    ...within(sql`COALESCE(input_tokens, 0)`, log.inputTokens),
    ...within(sql`COALESCE(output_tokens, 0)`, log.outputTokens),
    ...within(totalTokens, log.totalTokens),
    ...within(cost, log.costUnits),
    ...within(averageFeedback(organisationId), log.feedback),
  ];
}

function oneOf(
  value: RawBuilder<unknown>,
  list: readonly unknown[] | undefined,
): RawBuilder<unknown> | undefined {
  if (list === undefined) return undefined;
  return list.length === 0 ? sql`FALSE` : sql`${value} IN (${sql.join(list)})`;
}

function amongst(key: RawBuilder<unknown>, values: NonNullable<SumsQuery['among']>) {
  const known = values.filter((value) => value !== null);
  const conditions = [
    ...(known.length === 0 ? [] : [sql`${key} IN (${sql.join(known)})`]),
    ...(known.length === values.length ? [] : [sql`${key} IS NULL`]),
  ];
  return anyOf(conditions);
}

function anyOf(conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql`(${sql.join(conditions, sql` OR `)})`;
}

function within(value: RawBuilder<unknown>, [min, max]: Bounds): RawBuilder<unknown>[] {
  return [
    ...(min === null ? [] : [sql`${value} >= ${min}`]),
    ...(max === null ? [] : [sql`${value} <= ${max}`]),
  ];
}
