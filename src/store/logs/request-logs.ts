/** Knows the request_logs table: what became of each request for a model. */
import { sql } from 'kysely';
import type { GuardrailVerdict } from '../../model/logs/request-log.ts';
import { timeOfId } from '../../model/wire/ids.ts';
import type { Db } from '../connection/db.ts';
import { type InsertTarget, insertTuples, tupleOf } from '../rows/bulk-insert.ts';
import type { OpenChargeKey } from './open-charges.ts';

/** A call that was charged although its answer is not the one that the caller got. */
export interface EarlierAttempt {
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
}

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
  /** Null where it is the one that was asked for, or nobody said. */
  answered_model: string | null;
  target_path: string | null;
  /** -1 when all tries were used up. */
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
  /** JSON: a list of {@link EarlierAttempt}; null for none. */
  earlier_attempts: string | null;
  metadata: string;
  /** By its caller: the gateway has seen nothing of it. */
  is_reported: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    request_logs: RequestLogRow;
  }
}

const columns: readonly (keyof RequestLogRow)[] = [
  ...(['organisation_id', 'ended_at', 'id', 'trace_id', 'workspace_id', 'api_key_id'] as const),
  ...([
    'config_id',
    'prompt_slug',
    'endpoint',
    'status',
    'error_code',
    'provider',
    'requested_model',
  ] as const),
  ...(['model', 'answered_model', 'target_path', 'retries', 'cache_status'] as const),
  ...(['guardrail_verdict', 'is_stream', 'duration_ms'] as const),
  ...(['first_byte_ms', 'input_tokens', 'output_tokens', 'cached_input_tokens'] as const),
  ...([
    'cache_write_tokens',
    'cost_units',
    'is_estimated',
    'earlier_attempts',
    'metadata',
    'is_reported',
  ] as const),
];

const target: InsertTarget<RequestLogRow> = { table: 'request_logs', columns };

/** A row, and how it stands in a statement. */
export interface WrittenRow {
  readonly row: RequestLogRow;
  readonly tuple: string;
  /** What it says of use is what was charged in place of what nobody knew yet; null where that stays so. */
  readonly openCharge: OpenChargeKey | null;
}

export function writeRow(row: RequestLogRow, openCharge: OpenChargeKey | null = null): WrittenRow {
  return { row, tuple: tupleOf(target, row), openCharge };
}

/** What a row says of use that its provider has told. */
export type ToldUse = Pick<
  RequestLogRow,
  'input_tokens' | 'output_tokens' | 'cached_input_tokens' | 'cache_write_tokens' | 'cost_units'
> & { readonly is_estimated: 0 };

/** Of a row that is there no more it says nothing. */
export async function tellUse(
  tx: Db,
  { organisation_id, ended_at, id }: RowPlace,
  use: ToldUse,
): Promise<void> {
  await tx
    .updateTable('request_logs')
    .set(use)
    .where('organisation_id', '=', organisation_id)
    .where('ended_at', '=', ended_at)
    .where('id', '=', id)
    .execute();
}

/** Throws errno 1062 when any of them is there already. */
export async function insertMany(tx: Db, rows: readonly WrittenRow[]): Promise<void> {
  const tuples = rows.map(({ tuple }) => tuple);
  await insertTuples(tx, target, tuples);
}

type RowPlace = Pick<RequestLogRow, 'organisation_id' | 'ended_at' | 'id'>;

export async function isThere(db: Db, { organisation_id, ended_at, id }: RowPlace) {
  const found = await db
    .selectFrom('request_logs')
    .select('ended_at')
    .where('organisation_id', '=', organisation_id)
    .where('ended_at', '=', ended_at)
    .where('id', '=', id)
    .executeTakeFirst();
  return found !== undefined;
}

/** By the id of a row, which tells in which partition it is. */
export function findById(
  db: Db,
  organisationId: string,
  id: Buffer,
): Promise<RequestLogRow | undefined> {
  return db
    .selectFrom('request_logs')
    .select(columns)
    .where('organisation_id', '=', organisationId)
    .where('ended_at', '=', timeOfId(id))
    .where('id', '=', id)
    .executeTakeFirst();
}

export interface RequestLogFilter {
  /** Milliseconds since the epoch, both included. */
  readonly from: number;
  readonly to: number;
  /** Values of columns; those undefined are not asked for. */
  readonly equal: Readonly<
    Partial<Record<'workspace_id' | 'api_key_id' | 'config_id', string | undefined>>
  > &
    Readonly<Partial<Record<'provider' | 'model' | 'trace_id', string | undefined>>> & {
      readonly guardrail_verdict?: GuardrailVerdict | undefined;
    };
  /** Those of these keys only; null for all. */
  readonly apiKeyIds: readonly string[] | null;
  readonly statusFrom: number;
  readonly statusTo: number;
  /** The last row of the page before; null for the first page. */
  readonly before: Pick<RequestLogRow, 'ended_at' | 'id'> | null;
}

/** Up to `limit` of an organisation's, newest first. */
export async function list(
  db: Db,
  organisationId: string,
  filter: RequestLogFilter,
  limit: number,
): Promise<RequestLogRow[]> {
  const { from, to, equal, apiKeyIds, statusFrom, statusTo, before } = filter;
  if (apiKeyIds?.length === 0) return [];
  let query = db
    .selectFrom('request_logs')
    .select(columns)
    .where('organisation_id', '=', organisationId)
    .where('ended_at', '>=', from)
    .where('ended_at', '<=', before === null ? to : Math.min(to, before.ended_at));
  for (const [column, value] of Object.entries(equal)) {
    if (value !== undefined) query = query.where(sql.ref(column), '=', value);
  }
  if (apiKeyIds !== null) query = query.where('api_key_id', 'in', apiKeyIds);
  if (statusFrom > 0) query = query.where('status', '>=', statusFrom);
  if (statusTo < statusMax) query = query.where('status', '<=', statusTo);
  if (before !== null) {
    const { ended_at, id } = before;
    query = query.where((eb) => eb.or([eb('ended_at', '<', ended_at), eb('id', '<', id)]));
  }
  return query.orderBy('ended_at', 'desc').orderBy('id', 'desc').limit(limit).execute();
}

/** No status is higher. */
export const statusMax = 999;

/** A piece of the table that is dropped as a whole. */
export interface Partition {
  readonly name: string;
  /** First millisecond behind it; null for the last, which has no end. */
  readonly endsAt: number | null;
}

/** Oldest first; none where the engine keeps the table in one piece. */
export async function listPartitions(db: Db): Promise<Partition[]> {
  const { rows } = await sql<{ name: string; bound: string }>`
    SELECT partition_name AS name, partition_description AS bound
    FROM information_schema.partitions
    WHERE table_schema = DATABASE() AND table_name = 'request_logs' AND partition_name IS NOT NULL
    ORDER BY partition_ordinal_position`.execute(db);
  return rows.map(({ name, bound }) => ({
    name,
    endsAt: bound === 'MAXVALUE' ? null : Number(bound),
  }));
}

/** Cuts the last partition in pieces that end at these moments, which grow, and a new last one. */
export async function cutLastPartition(db: Db, last: string, ends: readonly number[]) {
  const pieces = ends.map((end) => `PARTITION ${partitionName(end)} VALUES LESS THAN (${end})`);
  const all = [...pieces, `PARTITION ${last} VALUES LESS THAN MAXVALUE`].join(', ');
  await sql`ALTER TABLE request_logs REORGANIZE PARTITION ${sql.ref(last)} INTO (${sql.raw(all)})`.execute(
    db,
  );
}

export async function dropPartitions(db: Db, names: readonly string[]): Promise<void> {
  const list = sql.join(names.map((name) => sql.ref(name)));
  await sql`ALTER TABLE request_logs DROP PARTITION ${list}`.execute(db);
}

/** `before_20270105`: all of it ended before that day began. */
function partitionName(end: number): string {
  return `before_${new Date(end).toISOString().slice(0, 10).replaceAll('-', '')}`;
}
