/** Selects the rows of request_logs that match an export, oldest first. */
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { toUnits } from '../../model/limits/limits.ts';
import type { ExportFilters, ExportSelection } from '../../model/logs/log-export.ts';
import { providerNames } from '../../model/logs/request-log.ts';
import type { Db } from '../connection/db.ts';
import { averageFeedback } from './feedback.ts';
import type { RequestLogRow } from './request-logs.ts';

export interface ExportRange {
  /** Milliseconds since the epoch, both included. */
  readonly from: number;
  readonly to: number;
  /** The last row of the previous page; null for the first page. */
  readonly after: Pick<RequestLogRow, 'ended_at' | 'id'> | null;
}

/** Up to `limit` rows. Metadata filters are not applied. */
export function list(
  db: Db,
  organisationId: string,
  wanted: { readonly filters: ExportFilters; readonly selection: ExportSelection },
  range: ExportRange,
  limit: number,
): Promise<RequestLogRow[]> {
  return matching(db, organisationId, wanted, range)
    .selectAll()
    .orderBy('ended_at')
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Number of matching rows, up to `limit`. */
export async function count(
  db: Db,
  organisationId: string,
  wanted: { readonly filters: ExportFilters; readonly selection: ExportSelection },
  range: ExportRange,
  limit: number,
): Promise<number> {
  const rows = matching(db, organisationId, wanted, range).select(sql<number>`1`.as('one'));
  const { total } = await db
    .selectFrom(rows.limit(limit).as('found'))
    .select(({ fn }) => fn.countAll<string>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(total);
}

/** As {@link list}, with only the metadata and the columns that continue the list. */
export function listMetadata(
  db: Db,
  organisationId: string,
  wanted: { readonly filters: ExportFilters; readonly selection: ExportSelection },
  range: ExportRange,
  limit: number,
): Promise<Pick<RequestLogRow, 'ended_at' | 'id' | 'metadata'>[]> {
  return matching(db, organisationId, wanted, range)
    .select(['ended_at', 'id', 'metadata'])
    .orderBy('ended_at')
    .orderBy('id')
    .limit(limit)
    .execute();
}

function matching(
  db: Db,
  organisationId: string,
  { filters, selection }: { readonly filters: ExportFilters; readonly selection: ExportSelection },
  { from, to, after }: ExportRange,
) {
  let query = db
    .selectFrom('request_logs')
    .where('organisation_id', '=', organisationId)
    .where('ended_at', '>=', Math.max(from, after?.ended_at ?? 0))
    .where('ended_at', '<=', to);
  if (after !== null) {
    const { ended_at, id } = after;
    query = query.where((eb) => eb.or([eb('ended_at', '>', ended_at), eb('id', '>', id)]));
  }
  for (const condition of conditionsOf(organisationId, filters, selection))
    query = query.where(condition);
  return query;
}

type Condition = RawBuilder<SqlBool>;

function conditionsOf(
  organisationId: string,
  filters: ExportFilters,
  selection: ExportSelection,
): Condition[] {
  const total = sql`(coalesce(input_tokens, 0) + coalesce(output_tokens, 0))`;
  return [
    ...oneOf('workspace_id', selection.workspaceIds),
    ...oneOf('config_id', selection.configIds),
    ...oneOf('api_key_id', selection.apiKeyIds),
    ...oneOf('provider', filters.ai_org ?? null),
    ...oneOf('provider', filters.virtual_keys?.flatMap(providerNames) ?? null),
    ...oneOf('model', filters.ai_model ?? null),
    ...oneOf('trace_id', filters.trace_id ?? null),
    ...oneOf('prompt_slug', filters.prompt_slug ?? null),
    ...between(total, filters.total_units_min, filters.total_units_max),
    ...between(sql.ref('input_tokens'), filters.prompt_token_min, filters.prompt_token_max),
    ...between(
      sql.ref('output_tokens'),
      filters.completion_token_min,
      filters.completion_token_max,
    ),
    ...between(sql.ref('cost_units'), unitsOf(filters.cost_min), unitsOf(filters.cost_max)),
    ...between(
      averageFeedback(organisationId),
      filters.weighted_feedback_min,
      filters.weighted_feedback_max,
    ),
    ...anyOf(filters.status_code?.map(isStatus)),
    ...anyOf(filters.ai_org_model?.map(isOfProvider)),
  ];
}

/** Rounds to the precision of stored costs. */
function unitsOf(dollars: number | undefined): number | undefined {
  return dollars === undefined ? undefined : toUnits(Number(dollars.toFixed(6)), 'cost');
}

function oneOf(column: string, values: readonly string[] | null): Condition[] {
  if (values === null) return [];
  if (values.length === 0) return [sql`1 = 0`];
  return [sql`${sql.ref(column)} in (${sql.join(values)})`];
}

function between(
  amount: RawBuilder<unknown>,
  min: number | undefined,
  max: number | undefined,
): Condition[] {
  return [
    ...(min === undefined ? [] : [sql<SqlBool>`${amount} >= ${min}`]),
    ...(max === undefined ? [] : [sql<SqlBool>`${amount} <= ${max}`]),
  ];
}

function anyOf(conditions: readonly Condition[] | undefined): Condition[] {
  return conditions === undefined ? [] : [sql`(${sql.join(conditions, sql` or `)})`];
}

/** A status such as `429`, or a class such as `4xx`. */
function isStatus(code: string): Condition {
  if (!code.endsWith('xx')) return sql`status = ${Number(code)}`;
  const first = Number(code[0]) * 100;
  return sql`status between ${first} and ${first + 99}`;
}

/** A provider and model such as `openai__gpt-4o`. */
function isOfProvider(pair: string): Condition {
  const at = pair.indexOf('__');
  if (at === -1) return sql`1 = 0`;
  return sql`(provider = ${pair.slice(0, at)} and model = ${pair.slice(at + 2)})`;
}
