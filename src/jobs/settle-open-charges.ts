/** Knows how responses and runs at providers that nobody asks for come to be charged what they have used. */
import { openForMs, settleCharge } from '../ledger/open-charge.ts';
import type { ProviderLists } from '../objects/listed-objects.ts';
import type { ObjectKind } from '../objects/object-request.ts';
import { type ToldUse, toldUses } from '../objects/told-uses.ts';
import * as openCharges from '../store/logs/open-charges.ts';
import type { Job, JobContext } from './runner/job.ts';
import { askedMax, ProviderRound, silence } from './runner/provider-round.ts';

type OpenCharge = openCharges.OpenCharge;

const minuteMs = 60_000;
/** The longest between two looks. */
const restMs = 3_600_000;

interface Counts extends Record<string, number> {
  settled: number;
  unsaid: number;
  open: number;
  postponed: number;
}

export function settleOpenCharges(lists: Pick<ProviderLists, 'read'>): Job {
  return {
    name: 'settle-open-charges',
    cron: '* * * * *',
    summary:
      'Asks providers what responses and runs have used that were charged all that they were granted',
    feature: null,
    idleBecause: null,
    run: async (context) => {
      const counts: Counts = { settled: 0, unsaid: 0, open: 0, postponed: 0 };
      const round = new ProviderRound(context, 'a provider does not tell what it has used');
      const due = await openCharges.listDue(context.db, context.now, askedMax);
      await round.each(due, (row) => settle(context, lists, row, { round, counts }));
      return counts;
    },
  };
}

async function settle(
  { db, transaction, now }: JobContext,
  lists: Pick<ProviderLists, 'read'>,
  row: OpenCharge,
  { round, counts }: { readonly round: ProviderRound; readonly counts: Counts },
): Promise<void> {
  // It is settled, and whoever was to log it has not: no row will come that could tell it.
  if (row.used !== null) return openCharges.deleteOne(db, row);
  // Nobody else asks meanwhile, and whoever dies over it is not the last to ask.
  if (!(await openCharges.putOff(db, row, nextLook(row, now)))) return;
  const told = await round.ask(row, (until) => useOf(lists, row, until));
  const use = told === silence ? unknown : told;
  const isLast = now - row.created_at >= openForMs;
  const isSettled =
    (use === null || use.isOver || isLast) &&
    (await settleCharge(transaction, row, use?.usage ?? null, now));
  if (isSettled) counts[use?.usage ? 'settled' : 'unsaid'] += 1;
  else counts[told === silence ? 'postponed' : 'open'] += 1;
}

/** Of what nobody has told. */
const unknown: ToldUse = { id: '', threadId: null, isOver: false, usage: null };

/** Null for what the provider has no more, or nobody can ask for. */
async function useOf(
  lists: Pick<ProviderLists, 'read'>,
  { organisation_id: organisationId, provider, kind, object_id: id, run_id: runId }: OpenCharge,
  signal: AbortSignal,
): Promise<ToldUse | null> {
  // Nothing is known of an account that a config names by its key.
  if (!provider.startsWith('@')) return null;
  const of = { organisationId, provider, kind: kind as ObjectKind, id };
  const below = runId === '' ? {} : { below: ['runs', runId] };
  const read = await lists.read({ ...of, ...below }, signal);
  if (read === null) return null;
  const named = runId === '' ? id : runId;
  return toldUses(read.told).find((use) => use.id === named) ?? unknown;
}

/** Ever more seldom. */
function nextLook({ created_at: askedAt }: OpenCharge, now: number): number {
  return now + Math.min(Math.max(now - askedAt, minuteMs), restMs);
}
