/** Knows how rows of the log are written with their totals, those of one organisation at a time, and how both come to say what was settled. */
import { createHash } from 'node:crypto';
import { latencyBoundsMs, startOfTotalsStep } from '../../model/logs/request-log.ts';
import type { TokenUsage } from '../../model/pricing/pricing.ts';
import { newIdBytes } from '../../model/wire/ids.ts';
import type { Db } from '../connection/db.ts';
import * as openCharges from './open-charges.ts';
import * as requestLogs from './request-logs.ts';
import * as requestTotals from './request-totals.ts';

/** What one transaction writes, rows or losses; as often as it is tried, the same. */
export interface Batch {
  readonly rows: readonly requestLogs.WrittenRow[];
  /** Of requests that could not be logged. */
  readonly losses: readonly requestTotals.RequestTotalRow[];
}

/** Writes all of it; where `isRepeated`, unless a try whose answer was lost has done so. */
export async function writeBatch(
  tx: Db,
  { rows, losses }: Batch,
  isRepeated: boolean,
): Promise<void> {
  const [first] = rows;
  if (first !== undefined && !(isRepeated && (await requestLogs.isThere(tx, first.row)))) {
    const known = rows.some(isOpen) ? await withSettled(tx, rows) : rows;
    await requestLogs.insertMany(tx, known);
    await requestTotals.addMany(tx, totalsOf(known));
  }
  await requestTotals.putMany(tx, losses);
}

type OpenRow = requestLogs.WrittenRow & { readonly openCharge: openCharges.OpenChargeKey };

function isOpen(row: requestLogs.WrittenRow): row is OpenRow {
  return row.openCharge !== null;
}

/** The rows, those that were settled meanwhile with what was; where the others are is noted for who settles them. */
async function withSettled(
  tx: Db,
  rows: readonly requestLogs.WrittenRow[],
): Promise<requestLogs.WrittenRow[]> {
  const settled = new Map<requestLogs.WrittenRow, requestLogs.WrittenRow>();
  // Before anything is locked that who settles locks later on.
  for (const open of rows.filter(isOpen)) {
    const { row, openCharge } = open;
    const place = { endedAt: row.ended_at, id: row.id, totalsId: totalsIdOf(row) };
    if (await openCharges.noteLogged(tx, openCharge, place)) continue;
    const used = await openCharges.takeUsed(tx, openCharge);
    if (used === null) continue;
    settled.set(open, requestLogs.writeRow({ ...row, ...toldUse(JSON.parse(used)) }));
  }
  return rows.map((row) => settled.get(row) ?? row);
}

/** Tokens with what they cost. */
export type SettledUse = TokenUsage & { readonly costUnits: number };

function toldUse(use: SettledUse): requestLogs.ToldUse {
  return {
    ...{ input_tokens: use.inputTokens, output_tokens: use.outputTokens },
    ...{ cached_input_tokens: use.cachedInputTokens, cache_write_tokens: use.cacheWriteTokens },
    ...{ cost_units: use.costUnits, is_estimated: 0 },
  };
}

/** Row and totals, as far as they are kept still, say `used` in place of `charged`. */
export async function tellSettled(
  tx: Db,
  organisation_id: string,
  { endedAt, id, totalsId }: openCharges.LogPlace,
  { charged, used }: { readonly charged: SettledUse; readonly used: SettledUse },
): Promise<void> {
  await requestLogs.tellUse(tx, { organisation_id, ended_at: endedAt, id }, toldUse(used));
  const began_at = startOfTotalsStep(endedAt);
  await requestTotals.addUse(
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

type Shared = Pick<
  requestTotals.RequestTotalRow,
  'workspace_id' | 'api_key_id' | 'provider' | 'model' | 'status'
>;

function totalsOf(rows: readonly requestLogs.WrittenRow[]): requestTotals.RequestTotalRow[] {
  const totals = new Map<string, requestTotals.RequestTotalRow>();
  let latest: requestTotals.RequestTotalRow | null = null;
  for (const { row } of rows) {
    // Most are like the one before, which is seen sooner than looked up.
    if (latest === null || !isAlike(latest, row)) latest = totalOf(totals, row);
    count(latest, row);
    if (row.earlier_attempts !== null) countEarlier(totals, row, row.earlier_attempts);
  }
  return [...totals.values()];
}

function isAlike(total: requestTotals.RequestTotalRow, row: requestLogs.RequestLogRow): boolean {
  return (
    total.status === row.status &&
    total.api_key_id === row.api_key_id &&
    total.workspace_id === row.workspace_id &&
    total.model === row.model &&
    total.provider === row.provider &&
    total.began_at === startOfTotalsStep(row.ended_at)
  );
}

function totalOf(
  totals: Map<string, requestTotals.RequestTotalRow>,
  row: Shared & Pick<requestLogs.RequestLogRow, 'organisation_id' | 'ended_at'>,
): requestTotals.RequestTotalRow {
  const shared = sharedOf(row);
  const began_at = startOfTotalsStep(row.ended_at);
  const id = JSON.stringify([began_at, ...Object.values(shared)]);
  const known = totals.get(id);
  if (known !== undefined) return known;
  const total = emptyTotal(row.organisation_id, began_at, digest(id), shared);
  totals.set(id, total);
  return total;
}

function sharedOf({ workspace_id, api_key_id, provider, model, status }: Shared): Shared {
  return { workspace_id, api_key_id, provider, model, status };
}

/** Of the totals that count this row. */
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
  shared: Shared,
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
  total.cache_hits += Number(row.cache_status === 'HIT');
  if (row.guardrail_verdict !== null) total[`guardrail_${row.guardrail_verdict}`] += 1;
  countUse(total, row);
  total.duration_ms += row.duration_ms;
  for (const [bound, column] of latencyColumns) if (row.duration_ms <= bound) total[column] += 1;
}

type Use = Pick<
  requestLogs.RequestLogRow,
  'input_tokens' | 'output_tokens' | 'cached_input_tokens' | 'cost_units'
>;

function countUse(total: requestTotals.RequestTotalRow, use: Use): void {
  total.input_tokens += use.input_tokens ?? 0;
  total.output_tokens += use.output_tokens ?? 0;
  total.cached_input_tokens += use.cached_input_tokens ?? 0;
  total.cost_units += use.cost_units ?? 0;
}

/** What they used counts with their own providers and models; a request is counted where it was answered. */
function countEarlier(
  totals: Map<string, requestTotals.RequestTotalRow>,
  row: requestLogs.RequestLogRow,
  attempts: string,
): void {
  for (const attempt of JSON.parse(attempts) as readonly requestLogs.EarlierAttempt[]) {
    const { provider, model, status } = attempt;
    countUse(totalOf(totals, { ...row, provider, model, status }), attempt);
  }
}

/** Requests of one hour of which no row could be kept; what else they were is not known any more. */
export function lossOf(
  organisationId: string,
  beganAt: number,
  requests: number,
): requestTotals.RequestTotalRow {
  const shared = { workspace_id: null, api_key_id: null, provider: null, model: null, status: 0 };
  const total = emptyTotal(organisationId, beganAt, newIdBytes(), shared);
  total.unlogged_requests = requests;
  return total;
}
