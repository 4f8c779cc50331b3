/** Knows sums over requests by what they share: of hourly totals where those can tell, else of the log. */
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { averageFeedback } from './feedback.ts';
import type { RequestLogRow } from './request-logs.ts';
import { countColumns, type RequestCounts } from './request-totals.ts';

/** Both ends included; null for none. */
export type Bounds = readonly [number | null, number | null];

/** What requests must be alike in; what is undefined is not asked for. */
export interface SumsFilter {
  /** Milliseconds since the epoch, both included. */
  readonly from: number;
  readonly to: number;
  readonly workspaceId: string | undefined;
  readonly provider: string | undefined;
  readonly model: string | undefined;
  /** One of each list. */
  readonly apiKeyIds: readonly string[] | undefined;
  readonly providers: readonly string[] | undefined;
  readonly models: readonly { readonly provider: string; readonly model: string }[] | undefined;
  readonly statuses: readonly number[] | undefined;
  readonly log: LogFilter | undefined;
}

/** What the log alone tells of requests. */
export interface LogFilter {
  readonly traceIds: readonly string[] | undefined;
  readonly configIds: readonly string[] | undefined;
  readonly promptSlugs: readonly string[] | undefined;
  readonly cacheStatuses: readonly string[] | undefined;
  /** One of the values of each key. */
  readonly metadata: readonly { readonly key: string; readonly values: readonly string[] }[];
  readonly inputTokens: Bounds;
  readonly outputTokens: Bounds;
  readonly totalTokens: Bounds;
  readonly costUnits: Bounds;
  /** Of the average of what was said of the answers, by weight; where anything was said. */
  readonly feedback: Bounds;
}

type Column =
  | 'workspace_id'
  | 'api_key_id'
  | 'provider'
  | 'model'
  | 'status'
  | 'config_id'
  | 'prompt_slug';

/** By pieces of time in milliseconds, by a column, or by a value of the metadata. */
export type SumsKey = { readonly stepMs: number } | Column | { readonly metadata: string };

/** Figures that sums can be sorted by, of the columns that {@link sum} tells. */
const figureTerms = {
  requests: sql`requests`,
  cost: sql`cost_units`,
  total_tokens: sql`input_tokens + output_tokens`,
  avg_tokens: sql`(input_tokens + output_tokens) / requests`,
  avg_input_tokens: sql`input_tokens / requests`,
  avg_output_tokens: sql`output_tokens / requests`,
  avg_latency: sql`duration_ms / requests`,
  success_rate: sql`(requests - errors) / requests`,
  error_count: sql`errors`,
  cache_hit_rate: sql`cache_hits / requests`,
  last_seen: sql`lastAt`,
  first_seen: sql`firstAt`,
} as const satisfies Record<string, RawBuilder<unknown>>;
export type SortingFigure = keyof typeof figureTerms;
export const sortingFigures = Object.keys(figureTerms) as readonly SortingFigure[];

export interface FigureOrder {
  /** `shared` for what they share. */
  readonly figure: SortingFigure | 'shared';
  readonly isAscending: boolean;
}

export interface SumsQuestion {
  readonly filter: SumsFilter;
  readonly by: readonly SumsKey[];
  /** Whether to ask the log whatever the question: it alone tells retries and users. */
  readonly asksLog: boolean;
  /** By what they share, or those with the most requests or the highest cost first, or by a figure. */
  readonly order: 'shared' | 'requests' | 'cost' | FigureOrder;
  readonly limit: number;
  readonly offset: number;
}

export interface SharedSums extends RequestCounts {
  /** Of those with a status of 400 or above. */
  readonly errors: number;
  /** Those that went well when they were tried again; 0 of totals, which do not tell. */
  readonly retried: number;
  /** How many different `_user` their metadata name; 0 of totals. */
  readonly users: number;
  /** Of one of them; null of totals, which do not tell. */
  readonly tokensLeast: number | null;
  readonly tokensMost: number | null;
  readonly costUnitsLeast: number | null;
  readonly costUnitsMost: number | null;
  /** Of the first and last of them, to the hour of totals; milliseconds since the epoch. */
  readonly firstAt: number | null;
  readonly lastAt: number | null;
  /** What they share, in the order of the question. */
  readonly shared: readonly (string | number | null)[];
}

/** Whether totals cannot answer. */
export function needsLog({ filter, by, asksLog }: SumsQuestion): boolean {
  const isOfLog = (key: SumsKey) =>
    ['config_id', 'prompt_slug'].includes(key as string) ||
    (typeof key === 'object' && 'metadata' in key);
  return filter.log !== undefined || asksLog || by.some(isOfLog);
}

export async function sum(
  db: Db,
  organisationId: string,
  question: SumsQuestion,
): Promise<SharedSums[]> {
  const { by, order, limit, offset } = question;
  const isOfLog = needsLog(question);
  const names = by.map((_, at) => sql.ref(`shared_${at}`));
  const keys = by.map((key, at) => sql`${sharedOf(key, isOfLog)} AS ${names[at]}`);
  const at = sql.ref(isOfLog ? 'ended_at' : 'began_at');
  // Sorted apart: by what a figure of sums is reckoned from, some engines sort no groups.
  const { rows } = await sql<Record<string, string | number | null>>`
    SELECT * FROM (
      SELECT ${sql.join([...keys, ...figures(isOfLog)])},
        MIN(${at}) AS firstAt, MAX(${at}) AS lastAt
      FROM ${sourceOf(organisationId, question)}
      ${names.length === 0 ? sql`` : sql`GROUP BY ${sql.join(names)}`}
    ) AS told
    ${names.length === 0 ? sql`` : sql`ORDER BY ${sql.join([...termsOf(order), ...names])}`}
    LIMIT ${limit} OFFSET ${offset}`.execute(db);
  return rows.map((row) => ({
    ...(row as unknown as SharedSums),
    firstAt: row.firstAt === null ? null : Number(row.firstAt),
    lastAt: row.lastAt === null ? null : Number(row.lastAt),
    shared: by.map((_, index) => row[`shared_${index}`] ?? null),
  }));
}

function termsOf(order: SumsQuestion['order']): RawBuilder<unknown>[] {
  if (order === 'shared') return [];
  if (order === 'requests') return [sql`requests DESC`];
  if (order === 'cost') return [sql`cost_units DESC`, sql`requests DESC`];
  const { figure, isAscending } = order;
  const term = figure === 'shared' ? sql.ref('shared_0') : figureTerms[figure];
  return [sql`${term} ${isAscending ? sql`ASC` : sql`DESC`}`];
}

/** Rows of the log that a question is about, newest first. */
export async function listRows(
  db: Db,
  organisationId: string,
  question: SumsQuestion,
): Promise<RequestLogRow[]> {
  const { rows } = await sql<RequestLogRow>`
    SELECT * FROM ${sourceOf(organisationId, { ...question, asksLog: true })}
    ORDER BY ended_at DESC, id DESC LIMIT ${question.limit} OFFSET ${question.offset}`.execute(db);
  return rows;
}

/** Keys that the metadata of rows of the log have, of up to `limit` sets of keys. */
export async function listMetadataKeys(
  db: Db,
  organisationId: string,
  question: SumsQuestion,
): Promise<string[]> {
  const { rows } = await sql<{ names: string }>`
    SELECT DISTINCT CAST(JSON_KEYS(metadata) AS CHAR) AS names
    FROM ${sourceOf(organisationId, { ...question, asksLog: true })}
    ORDER BY names LIMIT ${question.limit}`.execute(db);
  const sets = rows.map(({ names }): string[] => JSON.parse(names));
  return [...new Set(sets.flat())].sort();
}

/** How many sums a question has without a limit. */
export async function count(
  db: Db,
  organisationId: string,
  question: SumsQuestion,
): Promise<number> {
  const isOfLog = needsLog(question);
  const keys = question.by.map((key) => sharedOf(key, isOfLog));
  const { rows } = await sql<{ total: number }>`
    SELECT COUNT(*) AS total FROM (
      SELECT 1 AS one FROM ${sourceOf(organisationId, question)} GROUP BY ${sql.join(keys)}
    ) AS apart`.execute(db);
  return Number(rows[0]!.total);
}

export function sharedOf(key: SumsKey, isOfLog: boolean): RawBuilder<unknown> {
  if (typeof key === 'string') return sql.ref(key);
  if ('metadata' in key) return metadataOf(key.metadata);
  const at = sql.ref(isOfLog ? 'ended_at' : 'began_at');
  return sql`${at} - ${at} % ${key.stepMs}`;
}

/** As text. Keys come without quotes and backslashes, which paths of JSON would read otherwise. */
function metadataOf(key: string): RawBuilder<unknown> {
  const path = `$."${key}"`;
  return sql`JSON_UNQUOTE(JSON_EXTRACT(metadata, ${path})) COLLATE utf8mb4_bin`;
}

const ofRow: Partial<Record<keyof RequestCounts, RawBuilder<unknown>>> = {
  requests: sql`1`,
  unlogged_requests: sql`0`,
  cache_hits: sql`cache_status = 'HIT'`,
  guardrail_passed: sql`guardrail_verdict = 'passed'`,
  guardrail_failed: sql`guardrail_verdict = 'failed'`,
  guardrail_denied: sql`guardrail_verdict = 'denied'`,
};

/** The same of either source, where the log does not have them as columns. */
function figures(isOfLog: boolean): RawBuilder<unknown>[] {
  const termOf = (name: keyof RequestCounts): RawBuilder<unknown> => {
    if (!isOfLog) return sql.ref(name);
    const bound = /^within_(\d+)_ms$/.exec(name);
    if (bound !== null) return sql`duration_ms <= ${Number(bound[1])}`;
    return ofRow[name] ?? sql.ref(name);
  };
  const asNumber = (value: RawBuilder<unknown>) => sql`CAST(COALESCE(SUM(${value}), 0) AS DOUBLE)`;
  const requests = termOf('requests');
  const retried = isOfLog ? sql`retries > 0 AND status < 400` : sql`0`;
  const users = isOfLog ? sql`COUNT(DISTINCT ${metadataOf('_user')})` : sql`0`;
  return [
    ...countColumns.map((name) => sql`${asNumber(termOf(name))} AS ${sql.ref(name)}`),
    sql`${asNumber(sql`CASE WHEN status >= 400 THEN ${requests} ELSE 0 END`)} AS errors`,
    sql`${asNumber(retried)} AS retried`,
    sql`${users} AS users`,
    ...extremes(isOfLog),
  ];
}

function extremes(isOfLog: boolean): RawBuilder<unknown>[] {
  const asNumber = (value: RawBuilder<unknown>) =>
    isOfLog ? sql`CAST(${value} AS DOUBLE)` : sql`NULL`;
  return [
    sql`${asNumber(sql`MIN(${totalTokens})`)} AS tokensLeast`,
    sql`${asNumber(sql`MAX(${totalTokens})`)} AS tokensMost`,
    sql`${asNumber(sql`MIN(${cost})`)} AS costUnitsLeast`,
    sql`${asNumber(sql`MAX(${cost})`)} AS costUnitsMost`,
  ];
}

const totalTokens = sql`COALESCE(input_tokens, 0) + COALESCE(output_tokens, 0)`;
const cost = sql`COALESCE(cost_units, 0)`;

/** What a question is about: `table WHERE …`. */
export function sourceOf(organisationId: string, question: SumsQuestion): RawBuilder<unknown> {
  const { filter } = question;
  const isOfLog = needsLog(question);
  const isOfTime = question.by.every((key) => typeof key === 'object' && 'stepMs' in key);
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
    // Losses are of the organisation: they have nothing else in common with anything.
    isOfLog || isOfTime ? undefined : sql`unlogged_requests = 0`,
    ...(log === undefined ? [] : logConditions(organisationId, log)),
  ];
  const asked = conditions.filter((one) => one !== undefined);
  return sql`${sql.table(table!)} WHERE ${sql.join(asked, sql` AND `)}`;
}

function logConditions(
  organisationId: string,
  log: LogFilter,
): (RawBuilder<unknown> | undefined)[] {
  const { traceIds, configIds, promptSlugs, cacheStatuses, metadata } = log;
  return [
    oneOf(sql.ref('trace_id'), traceIds),
    oneOf(sql.ref('config_id'), configIds),
    oneOf(sql.ref('prompt_slug'), promptSlugs),
    oneOf(sql.ref('cache_status'), cacheStatuses),
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

function anyOf(conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql`(${sql.join(conditions, sql` OR `)})`;
}

function within(value: RawBuilder<unknown>, [least, most]: Bounds): RawBuilder<unknown>[] {
  return [
    ...(least === null ? [] : [sql`${value} >= ${least}`]),
    ...(most === null ? [] : [sql`${value} <= ${most}`]),
  ];
}
