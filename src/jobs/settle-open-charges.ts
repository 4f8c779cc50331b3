/** Knows how responses and runs at providers that nobody asks for come to be charged what they have used. */
import { openForMs, settleCharge } from '../ledger/open-charge.ts';
import type { ProviderLists } from '../objects/listed-objects.ts';
import type { ObjectKind } from '../objects/object-request.ts';
import { type ToldUse, toldUses } from '../objects/told-uses.ts';
import * as openCharges from '../store/tables/open-charges.ts';
import type { Job, JobContext } from './job.ts';

type OpenCharge = openCharges.OpenCharge;

/** Of which providers are asked in one run; other jobs of the process wait for it. */
const askedMax = 500;
/** Asked at once. */
const atOnce = 8;
const answerMs = 10_000;
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
      const { db, now, signal } = context;
      const counts: Counts = { settled: 0, unsaid: 0, open: 0, postponed: 0 };
      const silent = new Set<string>();
      const due = await openCharges.listDue(db, now, askedMax);
      for (let at = 0; at < due.length && !signal.aborted; at += atOnce) {
        const some = due.slice(at, at + atOnce);
        await Promise.all(some.map((row) => settle(context, lists, row, { silent, counts })));
      }
      return counts;
    },
  };
}

async function settle(
  { db, transaction, now, signal, log }: JobContext,
  lists: Pick<ProviderLists, 'read'>,
  row: OpenCharge,
  { silent, counts }: { readonly silent: Set<string>; readonly counts: Counts },
): Promise<void> {
  // Nobody else asks meanwhile, and whoever dies over it is not the last to ask.
  if (!(await openCharges.putOff(db, row, nextLook(row, now)))) return;
  const { organisation_id: organisationId, provider } = row;
  const place = `${organisationId} ${provider}`;
  let use: ToldUse | null;
  try {
    if (silent.has(place)) throw new Error('it has not answered before');
    use = await useOf(lists, row, AbortSignal.any([signal, AbortSignal.timeout(answerMs)]));
  } catch (err) {
    if (!silent.has(place)) {
      log.warn({ err, organisationId, provider }, 'a provider does not tell what it has used');
    }
    silent.add(place);
    use = unknown;
  }
  const isLast = now - row.created_at >= openForMs;
  const isSettled =
    (use === null || use.isOver || isLast) &&
    (await settleCharge(transaction, row, use?.usage ?? null, now));
  if (isSettled) counts[use?.usage ? 'settled' : 'unsaid'] += 1;
  else counts[use === unknown ? 'postponed' : 'open'] += 1;
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
