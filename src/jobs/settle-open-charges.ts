/** Settles background charges: queries providers for the usage of responses and runs that no caller fetches. */
import { openForMs, priceOfCharge, settleCharge } from '../ledger/open-charge.ts';
import type { ObjectKind } from '../model/endpoints/object-kind.ts';
import { type BatchUsage, batchState, sumBatchUsage } from '../objects/batch-results.ts';
import type { ProviderLists } from '../objects/listed-objects.ts';
import { findReportedUsage, type ReportedObjectUsage } from '../objects/reported-usage.ts';
import * as openCharges from '../store/logs/open-charges.ts';
import type { Job, JobContext } from './runner/job.ts';
import { noResponse, ProviderRound, queriesMax } from './runner/provider-round.ts';

type OpenCharge = openCharges.OpenCharge;

const minuteMs = 60_000;
/** Maximum interval between two queries of a charge. */
const queryIntervalMsMax = 3_600_000;

interface Counts extends Record<string, number> {
  settled: number;
  unsaid: number;
  open: number;
  postponed: number;
}

type ProviderReads = Pick<ProviderLists, 'read' | 'lines'>;

export function settleOpenCharges(lists: ProviderReads): Job {
  return {
    name: 'settle-open-charges',
    cron: '* * * * *',
    summary:
      'Queries the usage of responses, runs and batches at providers, and replaces their reservations by it',
    feature: null,
    idleBecause: null,
    run: async (context) => {
      const counts: Counts = { settled: 0, unsaid: 0, open: 0, postponed: 0 };
      const round = new ProviderRound(context, 'a provider does not report usage');
      const due = await openCharges.listDue(context.db, context.now, queriesMax);
      await round.each(due, (row) => settle(context, lists, row, { round, counts }));
      return counts;
    },
  };
}

async function settle(
  { db, transaction, now, signal }: JobContext,
  lists: ProviderReads,
  row: OpenCharge,
  { round, counts }: { readonly round: ProviderRound; readonly counts: Counts },
): Promise<void> {
  // The charge is settled, but its process died before it wrote the log row that would report the usage.
  if (row.used !== null) return openCharges.deleteOne(db, row);
  // Postponing first keeps other processes from the same query; if this process dies, the next query follows.
  if (!(await openCharges.putOff(db, row, nextLook(row, now)))) return;
  if (isBatch(row)) return settleBatch({ transaction, now, signal }, lists, row, { round, counts });
  const response = await round.query(row, (until) => usageOf(lists, row, until));
  const usage = response === noResponse ? unknownUsage : response;
  const isLast = now - row.created_at >= openForMs;
  const isSettled =
    (usage === null || usage.isOver || isLast) &&
    (await settleCharge(transaction, row, usage?.usage ?? null, now));
  if (isSettled) counts[usage?.usage ? 'settled' : 'unsaid'] += 1;
  else counts[response === noResponse ? 'postponed' : 'open'] += 1;
}

function isBatch({ kind }: OpenCharge): boolean {
  return kind === 'batches' || kind === 'message_batches';
}

/** Results of large batches take a while to arrive. */
const resultsMs = 300_000;

/** Charges the results of a batch that has ended, and releases the rest of its reservation. */
async function settleBatch(
  { transaction, now, signal }: Pick<JobContext, 'transaction' | 'now' | 'signal'>,
  lists: ProviderReads,
  row: OpenCharge,
  { round, counts }: { readonly round: ProviderRound; readonly counts: Counts },
): Promise<void> {
  const until = AbortSignal.any([signal, AbortSignal.timeout(resultsMs)]);
  const used = await round.query(row, () => batchUsage(lists, row, until));
  const isLast = now - row.created_at >= openForMs;
  const usage = used === noResponse || used === 'running' ? null : used;
  const isOver = used !== noResponse && used !== 'running';
  const isSettled = (isOver || isLast) && (await settleCharge(transaction, row, usage, now));
  if (isSettled) counts[usage === null ? 'unsaid' : 'settled'] += 1;
  else counts[used === noResponse ? 'postponed' : 'open'] += 1;
}

/** Null when the usage stays unknown. */
async function batchUsage(
  lists: ProviderReads,
  row: OpenCharge,
  signal: AbortSignal,
): Promise<BatchUsage | null | 'running'> {
  const { organisation_id: organisationId, provider, kind, object_id: id } = row;
  const batch = { organisationId, provider, kind: kind as ObjectKind, id };
  const read = await lists.read(batch, signal);
  if (read === null) return null;
  const state = batchState(read.object);
  if (state === null || !state.isOver) return 'running';
  const price = priceOfCharge(row);
  if (!state.hasResults) return sumBatchUsage(noLines(), price);
  const lines = await lists.lines(
    state.outputFile === null
      ? { ...batch, below: ['results'] }
      : { ...batch, kind: 'files', id: state.outputFile, below: ['content'] },
    signal,
  );
  return lines && sumBatchUsage(lines, price);
}

async function* noLines(): AsyncGenerator<string> {}

/** Stands for an object whose usage is not reported yet. */
const unknownUsage: ReportedObjectUsage = { id: '', threadId: null, isOver: false, usage: null };

/** Null when the object no longer exists at the provider, or cannot be queried. */
async function usageOf(
  lists: Pick<ProviderLists, 'read'>,
  { organisation_id: organisationId, provider, kind, object_id: id, run_id: runId }: OpenCharge,
  signal: AbortSignal,
): Promise<ReportedObjectUsage | null> {
  // A config that contains the key itself names no account that could be queried.
  if (!provider.startsWith('@')) return null;
  const object = { organisationId, provider, kind: kind as ObjectKind, id };
  const below = runId === '' ? {} : { below: ['runs', runId] };
  const read = await lists.read({ ...object, ...below }, signal);
  if (read === null) return null;
  const usageId = runId === '' ? id : runId;
  return findReportedUsage(read.object).find((use) => use.id === usageId) ?? unknownUsage;
}

/** Intervals grow with the age of the charge. */
function nextLook({ created_at: createdAt }: OpenCharge, now: number): number {
  return now + Math.min(Math.max(now - createdAt, minuteMs), queryIntervalMsMax);
}
