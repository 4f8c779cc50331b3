/** Writes log entries of one organisation with their totals, and corrects both when usage is settled later. */
import { createHash } from 'node:crypto';
import { hasSucceeded, latencyBoundsMs, startOfTotalsStep } from '../../model/logs/request-log.ts';
import type { TokenUsage } from '../../model/pricing/pricing.ts';
import { newIdBytes } from '../../model/wire/ids.ts';
import type { Db } from '../connection/db.ts';
import * as logBatches from './log-batches.ts';
import * as openCharges from './open-charges.ts';
import * as requestLogs from './request-logs.ts';
import * as requestTotals from './request-totals.ts';

/** Log entries and losses of one transaction. Writing a batch again has the same result. */
export interface LogBatch {
  readonly rows: readonly requestLogs.WrittenRow[];
  /** Totals of requests that could not be logged. */
  readonly losses: readonly requestTotals.RequestTotalRow[];
}

/**
 * Writes a batch. With `isRepeated` it omits rows that an attempt with a lost response, or an earlier process, has written.
 * `onTotals` is called in the transaction with the totals that change.
 */
export async function writeBatch(
  tx: Db,
  { rows, losses }: LogBatch,
  isRepeated: boolean,
  onTotals: (totals: readonly requestTotals.RequestTotalRow[]) => Promise<void> = async () => {},
): Promise<void> {
  const missing = isRepeated ? await requestLogs.withoutExisting(tx, rows) : rows;
  if (missing.length > 0) {
    const current = missing.some(isOpen) ? await withSettled(tx, missing) : missing;
    await requestLogs.insertMany(tx, current);
    const totals = totalsOf(current);
    await requestTotals.addMany(tx, totals);
    await onTotals(totals);
  }
  await requestTotals.putMany(tx, losses);
  if (losses.length > 0) await onTotals(losses);
  if (missing.length > 0) await logBatches.insert(tx, batchOf(missing));
}

/** All rows are of one organisation. */
function batchOf(rows: readonly requestLogs.WrittenRow[]) {
  const ends = rows.map(({ row }) => row.ended_at);
  return {
    organisation_id: rows[0]!.row.organisation_id,
    id: newIdBytes(),
    first_ended_at: Math.min(...ends),
    last_ended_at: Math.max(...ends),
  };
}

type OpenRow = requestLogs.WrittenRow & { readonly openCharge: openCharges.OpenChargeKey };

function isOpen(row: requestLogs.WrittenRow): row is OpenRow {
  return row.openCharge !== null;
}

/** Replaces the usage of rows that were settled in the meantime, and records the log entry of the others' charges. */
async function withSettled(
  tx: Db,
  rows: readonly requestLogs.WrittenRow[],
): Promise<requestLogs.WrittenRow[]> {
  const settled = new Map<requestLogs.WrittenRow, requestLogs.WrittenRow>();
  // First, so that locks are taken in the same order as by a settlement.
  for (const open of rows.filter(isOpen)) {
    const { row, openCharge } = open;
    const place = { endedAt: row.ended_at, id: row.id, totalsId: totalsIdOf(row) };
    if (await openCharges.noteLogged(tx, openCharge, place)) continue;
    const used = await openCharges.takeUsed(tx, openCharge);
    if (used === null) continue;
    settled.set(open, requestLogs.writeRow({ ...row, ...usageColumns(JSON.parse(used)) }));
  }
  return rows.map((row) => settled.get(row) ?? row);
}

/** Tokens and their cost. */
export type SettledUsage = TokenUsage & { readonly costUnits: number };

function usageColumns(usage: SettledUsage): requestLogs.UsageColumns {
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    cost_units: usage.costUnits,
    is_estimated: 0,
  };
}

/** Replaces `charged` by `used` in the log entry and the totals, as far as they still exist. */
export async function recordSettlement(
  tx: Db,
  organisation_id: string,
  { endedAt, id, totalsId }: openCharges.LogEntryKeys,
  { charged, used }: { readonly charged: SettledUsage; readonly used: SettledUsage },
): Promise<void> {
  await requestLogs.updateUsage(tx, { organisation_id, ended_at: endedAt, id }, usageColumns(used));
  const began_at = startOfTotalsStep(endedAt);
  await requestTotals.addUsage(
    tx,
    { organisation_id, began_at, id: totalsId },
    {
      input_tokens: used.inputTokens - charged.inputTokens,
      output_tokens: used.outputTokens - charged.outputTokens,
      cached_input_tokens: used.cachedInputTokens - charged.cachedInputTokens,
      cost_units: used.costUnits - charged.costUnits,
    },
  );
}

type GroupColumns = Pick<
  requestTotals.RequestTotalRow,
  'workspace_id' | 'api_key_id' | 'provider' | 'model' | 'status'
>;

type TotalledRow = GroupColumns &
  Pick<requestLogs.RequestLogRow, 'organisation_id' | 'ended_at' | 'mcp_server'>;

function totalsOf(rows: readonly requestLogs.WrittenRow[]): requestTotals.RequestTotalRow[] {
  const totals = new Map<string, requestTotals.RequestTotalRow>();
  let latest: requestTotals.RequestTotalRow | null = null;
  for (const { row } of rows) {
    // Most rows belong to the same totals as the previous one, which is faster to check than to look up.
    if (latest === null || !belongsTo(latest, row)) latest = totalOf(totals, row);
    count(latest, row);
    if (row.earlier_attempts !== null) countEarlier(totals, row, row.earlier_attempts);
  }
  return [...totals.values()];
}

function belongsTo(total: requestTotals.RequestTotalRow, row: requestLogs.RequestLogRow): boolean {
  return (
    total.status === row.status &&
    total.api_key_id === row.api_key_id &&
    total.workspace_id === row.workspace_id &&
    total.model === row.model &&
    total.provider === row.provider &&
    total.mcp_requests > 0 === (row.mcp_server !== null) &&
    total.began_at === startOfTotalsStep(row.ended_at)
  );
}

function totalOf(
  totals: Map<string, requestTotals.RequestTotalRow>,
  row: TotalledRow,
): requestTotals.RequestTotalRow {
  const shared = sharedOf(row);
  const began_at = startOfTotalsStep(row.ended_at);
  // Calls of MCP servers have totals of their own, because they have no provider and no model.
  const kind = row.mcp_server === null ? [] : ['mcp'];
  const id = JSON.stringify([began_at, ...Object.values(shared), ...kind]);
  const existing = totals.get(id);
  if (existing !== undefined) return existing;
  const total = emptyTotal(row.organisation_id, began_at, digest(id), shared);
  totals.set(id, total);
  return total;
}

function sharedOf({
  workspace_id,
  api_key_id,
  provider,
  model,
  status,
}: GroupColumns): GroupColumns {
  return { workspace_id, api_key_id, provider, model, status };
}

/** Id of the totals that include this row. */
function totalsIdOf(row: requestLogs.RequestLogRow): Buffer {
  return totalOf(new Map(), row).id;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest().subarray(0, 16);
}

function emptyTotal(
  organisation_id: string,
  began_at: number,
  id: Buffer,
  shared: GroupColumns,
): requestTotals.RequestTotalRow {
  const counts = Object.fromEntries(requestTotals.countColumns.map((name) => [name, 0]));
  return {
    organisation_id,
    began_at,
    id,
    ...shared,
    ...(counts as unknown as requestTotals.RequestCounts),
  };
}

const latencyColumns = latencyBoundsMs.map((bound) => [bound, `within_${bound}_ms`] as const);

function count(total: requestTotals.RequestTotalRow, row: requestLogs.RequestLogRow): void {
  total.requests += 1;
  if (row.mcp_server !== null) {
    total.mcp_requests += 1;
    total.mcp_errors += Number(!hasSucceeded(row));
  }
  total.cache_hits += Number(row.cache_status?.endsWith('HIT') === true);
  if (row.guardrail_verdict !== null) total[`guardrail_${row.guardrail_verdict}`] += 1;
  countUse(total, row);
  total.duration_ms += row.duration_ms;
  for (const [bound, column] of latencyColumns) if (row.duration_ms <= bound) total[column] += 1;
}

type UsageRow = Pick<
  requestLogs.RequestLogRow,
  'input_tokens' | 'output_tokens' | 'cached_input_tokens' | 'cost_units'
>;

function countUse(total: requestTotals.RequestTotalRow, use: UsageRow): void {
  total.input_tokens += use.input_tokens ?? 0;
  total.output_tokens += use.output_tokens ?? 0;
  total.cached_input_tokens += use.cached_input_tokens ?? 0;
  total.cost_units += use.cost_units ?? 0;
}

/** Usage of earlier attempts counts for their own provider and model; the request counts where it was answered. */
function countEarlier(
  totals: Map<string, requestTotals.RequestTotalRow>,
  row: requestLogs.RequestLogRow,
  attempts: string,
): void {
  for (const attempt of JSON.parse(attempts) as readonly requestLogs.LoggedAttempt[]) {
    const { provider, model, status } = attempt;
    countUse(totalOf(totals, { ...row, provider, model, status }), attempt);
  }
}

/** Totals of requests of one hour that could not be logged; nothing but their number is known. */
export function lossOf(
  organisationId: string,
  beganAt: number,
  requests: number,
  id = newIdBytes(),
): requestTotals.RequestTotalRow {
  const shared = { workspace_id: null, api_key_id: null, provider: null, model: null, status: 0 };
  const total = emptyTotal(organisationId, beganAt, id, shared);
  total.unlogged_requests = requests;
  return total;
}
