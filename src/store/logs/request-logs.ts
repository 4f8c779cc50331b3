/** Table functions for request_logs: one entry for each model request. */
import { type RawBuilder, sql } from 'kysely';
import type { CheckVerdict, GuardrailVerdict, LoggedType } from '../../model/logs/request-log.ts';
import type { PriceSource } from '../../model/pricing/price-origin.ts';
import { timeOfId } from '../../model/wire/ids.ts';
import type { Db } from '../connection/db.ts';
import { type InsertTarget, insertTuples, tupleOf } from '../rows/bulk-insert.ts';
import { rows } from '../rows/rows.ts';
import type { OpenChargeKey } from './open-charges.ts';

/** A charged call whose response was not sent to the caller. */
export interface LoggedAttempt {
  readonly provider: string;
  readonly model: string | null;
  readonly target_path: string;
  readonly status: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_input_tokens: number;
  readonly cache_write_tokens: number;
  readonly cost_units: number;
  readonly is_estimated: boolean;
  /** Missing in rows of older builds. */
  readonly price_source?: PriceSource | null;
  readonly price_version?: string | null;
}

/** One check as the column `guardrail_checks` contains it. */
export type LoggedCheckColumns = readonly [
  guardrail: string,
  check: string,
  side: 'input' | 'output',
  verdict: CheckVerdict,
  isMonitored: 0 | 1,
];

export interface RequestLogRow {
  organisation_id: string;
  /** Milliseconds since the epoch. */
  ended_at: number;
  id: Buffer;
  trace_id: string;
  workspace_id: string | null;
  api_key_id: string | null;
  config_id: string | null;
  prompt_slug: string | null;
  endpoint: string;
  status: number;
  error_code: string | null;
  provider: string | null;
  requested_model: string | null;
  model: string | null;
  /** Null when it equals the requested model or the provider did not report it. */
  answered_model: string | null;
  target_path: string | null;
  /** -1 when all retries failed. */
  retries: number;
  cache_status: string | null;
  guardrail_verdict: GuardrailVerdict | null;
  is_stream: number;
  duration_ms: number;
  first_byte_ms: number | null;
  input_tokens: number | null;
  output_tokens: number | null;
  cached_input_tokens: number | null;
  cache_write_tokens: number | null;
  cost_units: number | null;
  is_estimated: number;
  /** Where the price comes from; null when it is unknown or nothing was charged. */
  price_source: PriceSource | null;
  /** Versions of what determines the price. */
  price_version: string | null;
  /** JSON: a list of {@link LoggedAttempt}; null for none. */
  earlier_attempts: string | null;
  metadata: string;
  /** 1 when the caller reported the request, which did not pass through the gateway. */
  is_reported: number;
  /** JSON: verdict by id of the guardrail, ids ascending; null for none. */
  guardrails: string | null;
  /** JSON: `[guardrail, check, side, verdict, 1 if monitored]` for each check, sorted; null for none. */
  guardrail_checks: string | null;
  /** JSON: milliseconds for each of the checks; null for none. */
  guardrail_check_ms: string | null;
  /** Slug of the called MCP server; null for a model request. */
  mcp_server: string | null;
  /** Name of the tool or prompt, or address of the resource. */
  mcp_name: string | null;
  /** JSON: a list of paths; null for none. */
  dropped_members: string | null;
  /** Null where no strategy decided. */
  target_selection: string | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    request_logs: RequestLogRow;
  }
}

/** Selected by name, because responses contain every column that is read. */
const columns = [
  'organisation_id',
  'ended_at',
  'id',
  'trace_id',
  'workspace_id',
  'api_key_id',
  'config_id',
  'prompt_slug',
  'endpoint',
  'status',
  'error_code',
  'provider',
  'requested_model',
  'model',
  'answered_model',
  'target_path',
  'retries',
  'cache_status',
  'guardrail_verdict',
  'is_stream',
  'duration_ms',
  'first_byte_ms',
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'cost_units',
  'is_estimated',
  'price_source',
  'price_version',
  'earlier_attempts',
  'metadata',
  'is_reported',
  'guardrails',
  'guardrail_checks',
  'guardrail_check_ms',
  'mcp_server',
  'mcp_name',
  'dropped_members',
  'target_selection',
] as const satisfies readonly (keyof RequestLogRow)[];

/** A whole row; columns that are missing are null. */
export function emptyRow(known: Partial<RequestLogRow>): RequestLogRow {
  const row = Object.fromEntries(columns.map((column) => [column, known[column] ?? null]));
  return row as unknown as RequestLogRow;
}

const table = rows('request_logs');

const target: InsertTarget<RequestLogRow> = { table: 'request_logs', columns };

/** A row with its serialised form for an insert. */
export interface WrittenRow {
  readonly row: RequestLogRow;
  readonly tuple: string;
  /** The charge that will replace the row's usage, which is an upper bound; null when the usage is final. */
  readonly openCharge: OpenChargeKey | null;
}

export function writeRow(row: RequestLogRow, openCharge: OpenChargeKey | null = null): WrittenRow {
  return { row, tuple: tupleOf(target, row), openCharge };
}

/** Usage as reported by the provider. */
export type UsageColumns = Pick<
  RequestLogRow,
  'input_tokens' | 'output_tokens' | 'cached_input_tokens' | 'cache_write_tokens' | 'cost_units'
> & { readonly is_estimated: 0 };

type RowKey = Pick<RequestLogRow, 'organisation_id' | 'ended_at' | 'id'>;

const keyOf = ({ organisation_id, ended_at, id }: RowKey) => ({ organisation_id, ended_at, id });

/** Does nothing when the row has been deleted. */
export async function updateUsage(tx: Db, key: RowKey, usage: UsageColumns): Promise<void> {
  await table.update(tx, keyOf(key), usage);
}

/** Throws errno 1062 when any of them exists. */
export async function insertMany(tx: Db, written: readonly WrittenRow[]): Promise<void> {
  const tuples = written.map(({ tuple }) => tuple);
  await insertTuples(tx, target, tuples);
}

/** Rows of one organisation that are not in the table. */
export async function withoutExisting<Row extends Pick<WrittenRow, 'row'>>(
  tx: Db,
  written: readonly Row[],
): Promise<readonly Row[]> {
  const [first] = written;
  if (first === undefined) return written;
  const times = written.map(({ row }) => row.ended_at);
  const found = await table
    .matching(tx, {
      organisation_id: first.row.organisation_id,
      id: written.map(({ row }) => row.id),
    })
    .select('id')
    .where('ended_at', '>=', Math.min(...times))
    .where('ended_at', '<=', Math.max(...times))
    .execute();
  const existing = new Set(found.map(({ id }) => id.toString('hex')));
  return written.filter(({ row }) => !existing.has(row.id.toString('hex')));
}

/** Finds a row by its id, whose time determines the partition. */
export function findById(
  db: Db,
  organisationId: string,
  id: Buffer,
): Promise<RequestLogRow | undefined> {
  const where = { organisation_id: organisationId, ended_at: timeOfId(id), id };
  return table.findFirst(db, where, { columns });
}

export interface RequestLogFilter {
  /** Milliseconds since the epoch, both included. */
  readonly from: number;
  readonly to: number;
  /** Values by column; an undefined value matches every row. */
  readonly equal: Readonly<
    Partial<Record<'workspace_id' | 'api_key_id' | 'config_id', string | undefined>>
  > &
    Readonly<Partial<Record<'provider' | 'model' | 'trace_id', string | undefined>>> &
    Readonly<Partial<Record<'mcp_server' | 'mcp_name', string | undefined>>> & {
      readonly guardrail_verdict?: GuardrailVerdict | undefined;
    };
  /** Only requests that one of these guardrails judged, with the verdict if one is given; undefined for all. */
  readonly guardrails:
    | { readonly ids: readonly string[]; readonly verdict: string | undefined }
    | undefined;
  /** Only requests of these keys; null for all. */
  readonly apiKeyIds: readonly string[] | null;
  readonly statusFrom: number;
  readonly statusTo: number;
  /** Undefined for both. */
  readonly type: LoggedType | undefined;
  /** The last row of the previous page; null for the first page. */
  readonly before: Pick<RequestLogRow, 'ended_at' | 'id'> | null;
}

/** Up to `limit` rows of an organisation, newest first. */
export async function list(
  db: Db,
  organisationId: string,
  filter: RequestLogFilter,
  limit: number,
): Promise<RequestLogRow[]> {
  const { from, to, equal, guardrails, statusFrom, statusTo, type, before } = filter;
  let query = table
    .matching(db, { organisation_id: organisationId, ...equal, api_key_id: apiKeysOf(filter) })
    .select(columns)
    .where('ended_at', '>=', from)
    .where('ended_at', '<=', before === null ? to : Math.min(to, before.ended_at));
  if (statusFrom > 0) query = query.where('status', '>=', statusFrom);
  if (statusTo < statusMax) query = query.where('status', '<=', statusTo);
  if (type !== undefined) {
    query = query.where('mcp_server', type === 'mcp' ? 'is not' : 'is', null);
  }
  if (guardrails !== undefined) {
    const { ids, verdict } = guardrails;
    query = query.where(({ or, eb }) =>
      or(ids.map((id) => eb(verdictBy(id), verdict === undefined ? '<>' : '=', verdict ?? ''))),
    );
  }
  if (before !== null) {
    const { ended_at, id } = before;
    query = query.where((eb) => eb.or([eb('ended_at', '<', ended_at), eb('id', '<', id)]));
  }
  return query.orderBy('ended_at', 'desc').orderBy('id', 'desc').limit(limit).execute();
}

/** The verdict of a guardrail; an empty text where it did not judge. Ids are UUIDs. */
export function verdictBy(id: string): RawBuilder<string> {
  return sql`COALESCE(JSON_UNQUOTE(JSON_EXTRACT(guardrails, ${`$."${id}"`})), '')`;
}

/** A key must satisfy both filters. */
function apiKeysOf({ equal, apiKeyIds }: RequestLogFilter): string | readonly string[] | undefined {
  if (apiKeyIds === null || equal.api_key_id === undefined) {
    return apiKeyIds ?? equal.api_key_id;
  }
  return apiKeyIds.filter((id) => id === equal.api_key_id);
}

/** The highest possible status. */
export const statusMax = 999;

/** A partition of the table, which is dropped as a whole. */
export interface Partition {
  readonly name: string;
  /** First millisecond after it; null for the last, which has no end. */
  readonly endsAt: number | null;
}

/** Oldest first; empty when the engine does not partition the table. */
export async function listPartitions(db: Db): Promise<Partition[]> {
  const found = await sql<{ name: string; bound: string }>`
    SELECT partition_name AS name, partition_description AS bound
    FROM information_schema.partitions
    WHERE table_schema = DATABASE() AND table_name = 'request_logs' AND partition_name IS NOT NULL
    ORDER BY partition_ordinal_position`.execute(db);
  return found.rows.map(({ name, bound }) => ({
    name,
    endsAt: bound === 'MAXVALUE' ? null : Number(bound),
  }));
}

/** Splits the last partition at these increasing times, the remainder being the new last one. */
export async function cutLastPartition(db: Db, last: string, ends: readonly number[]) {
  const parts = ends.map((end) => `PARTITION ${partitionName(end)} VALUES LESS THAN (${end})`);
  const all = [...parts, `PARTITION ${last} VALUES LESS THAN MAXVALUE`].join(', ');
  await sql`ALTER TABLE request_logs REORGANIZE PARTITION ${sql.ref(last)} INTO (${sql.raw(all)})`.execute(
    db,
  );
}

export async function dropPartitions(db: Db, names: readonly string[]): Promise<void> {
  const list = sql.join(names.map((name) => sql.ref(name)));
  await sql`ALTER TABLE request_logs DROP PARTITION ${list}`.execute(db);
}

/** For example `before_20270105`: all its rows ended before that day. */
function partitionName(end: number): string {
  return `before_${new Date(end).toISOString().slice(0, 10).replaceAll('-', '')}`;
}
