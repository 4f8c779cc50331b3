/** Knows how a request that was charged all that it was granted comes to be charged what it used, once that is told. */
import type { Price, TokenUsage } from '../model/pricing/pricing.ts';
import type { Db } from '../store/connection/db.ts';
import { recordSettlement, type SettledUsage } from '../store/logs/logged-requests.ts';
import * as openCharges from '../store/logs/open-charges.ts';
import { correct, type UsageCorrection } from '../store/usage/usage-corrections.ts';
import { type Limit, placeOf, type Usage, usageAtPrice, usedUnits } from './limit.ts';

/** What was charged in place of what nobody had said. */
export interface AssumedCharge {
  /** By which the request is charged, whenever its use is told; null where there was none. */
  readonly price: Price | null;
  readonly limits: readonly Limit[];
  readonly usage: Usage;
}

/** One counter, as the row keeps it. */
interface ChargedCounter extends Omit<Limit, 'organisationId' | 'isHard'> {
  readonly chargedUnits: number;
}

interface Terms {
  readonly price: Price | null;
  readonly counters: readonly ChargedCounter[];
  /** What the log says until more is known. */
  readonly usage: Usage;
  /** Where the object is asked for; null where the provider itself says it. */
  readonly address: string | null;
}

/** Of which object, and where. */
export interface OpenedCharge extends Omit<openCharges.NewCharge, 'terms'> {
  readonly address: string | null;
}

/** Keeps what a request was charged until its use is told. */
export async function openCharge(
  db: Db,
  { address, ...row }: OpenedCharge,
  { price, limits, usage }: AssumedCharge,
): Promise<void> {
  const counters = limits.map((limit): ChargedCounter => {
    const { organisationId: _, isHard: __, ...counter } = limit;
    return { ...counter, chargedUnits: usedUnits(limit, usage) };
  });
  const terms: Terms = { price, counters, usage, address };
  await openCharges.insert(db, { ...row, terms: JSON.stringify(terms) });
}

export function addressOf({ terms }: openCharges.OpenCharge): string | null {
  return (JSON.parse(terms) as Terms).address;
}

/** How long a provider that keeps an object can be asked what it has used. */
export const openForMs = 31 * 86_400_000;
/** By when what a process has charged is told, whatever becomes of it. */
const reportedWithinMs = 600_000;
/** How long a process may take to log a request; what was settled before is kept for it. */
const loggedWithinMs = 7 * 86_400_000;

/** A counter does not know yet of what is to be taken back. */
class TooEarly extends Error {
  override name = 'TooEarly';
}

/**
 * Ends an open charge: what was charged becomes what was used, in the windows in which it was charged and in the log;
 * null leaves it as it is. Whoever comes second changes nothing. False where it is too early for it.
 */
export async function settleCharge(
  transaction: <T>(work: (tx: Db) => Promise<T>) => Promise<T>,
  row: openCharges.OpenCharge,
  usage: TokenUsage | null,
  now: number,
): Promise<boolean> {
  const { price, counters } = JSON.parse(row.terms) as Terms;
  const used = usage && usageAtPrice(price, usage);
  const corrections = used === null ? [] : counters.map((one) => correctionOf(one, used));
  const due = corrections.filter(({ units }) => units !== 0);
  try {
    await transaction(async (tx) => {
      const open = await openCharges.lock(tx, row);
      if (open === undefined) return;
      const isDone = await correct(tx, row.organisation_id, due, {
        chargedAt: row.created_at,
        now,
        takesWhatIsThere: now - row.created_at > reportedWithinMs,
      });
      if (!isDone) throw new TooEarly();
      await endOpen(tx, open, used, now);
    });
    return true;
  } catch (thrown) {
    if (thrown instanceof TooEarly) return false;
    throw thrown;
  }
}

/** Whoever of this and the log comes second sees what the other has left: the row's place, or what was used. */
async function endOpen(
  tx: Db,
  open: openCharges.OpenCharge,
  used: SettledUsage | null,
  now: number,
): Promise<void> {
  const { organisation_id, logged_at: endedAt, log_id: id, totals_id: totalsId } = open;
  const isLogged = endedAt !== null && id !== null && totalsId !== null;
  if (used !== null && !isLogged) {
    return openCharges.keepUsed(tx, open, JSON.stringify(used), now + loggedWithinMs);
  }
  if (used !== null && isLogged) {
    const { usage: charged } = JSON.parse(open.terms) as Terms;
    await recordSettlement(tx, organisation_id, { endedAt, id, totalsId }, { charged, used });
  }
  await openCharges.deleteOne(tx, open);
}

function correctionOf(one: ChargedCounter, used: Usage): UsageCorrection {
  const { limitUnits, alertThresholdUnits, type, label, chargedUnits } = one;
  const terms = { limitUnits, alertThresholdUnits, type, label };
  return { counter: placeOf(one), units: usedUnits(one, used) - chargedUnits, ...terms };
}
