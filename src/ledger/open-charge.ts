/** Keeps estimated charges open until the provider reports the usage, and corrects them then. */
import type { Price, TokenUsage } from '../model/pricing/pricing.ts';
import type { Db } from '../store/connection/db.ts';
import { recordSettlement, type SettledUsage } from '../store/logs/logged-requests.ts';
import * as openCharges from '../store/logs/open-charges.ts';
import { correct, type UsageCorrection } from '../store/usage/usage-corrections.ts';
import { counterRefOf, type Limit, type Usage, usageAtPrice, usedUnits } from './limit.ts';

/** An estimated charge. */
export interface AssumedCharge {
  /** Price that applies whenever the usage is reported; null for none. */
  readonly price: Price | null;
  readonly limits: readonly Limit[];
  readonly usage: Usage;
}

/** One charged counter, as stored in the row. */
interface ChargedCounter extends Omit<Limit, 'organisationId' | 'isHard'> {
  readonly chargedUnits: number;
}

interface Terms {
  readonly price: Price | null;
  readonly counters: readonly ChargedCounter[];
  /** The estimate in the log. */
  readonly usage: Usage;
  /** Address of the server; null for a provider of a workspace, which determines it. */
  readonly address: string | null;
}

export interface OpenedCharge extends Omit<openCharges.NewCharge, 'terms'> {
  readonly address: string | null;
}

/** Stores an estimated charge until the usage is reported. */
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

/** The price at which the usage is charged; null for none. */
export function priceOfCharge({ terms }: openCharges.OpenCharge): Price | null {
  return (JSON.parse(terms) as Terms).price;
}

export function addressOf({ terms }: openCharges.OpenCharge): string | null {
  return (JSON.parse(terms) as Terms).address;
}

/** How long a provider can be asked for the usage of an object. */
export const openForMs = 31 * 86_400_000;
/** Time within which the charges of a process reach the counters, even if it crashes. */
const reportedWithinMs = 600_000;
/** Time within which a process logs a request; earlier settled usage is stored for it. */
const loggedWithinMs = 7 * 86_400_000;

/** The charge to correct has not reached its counter yet. */
class TooEarly extends Error {
  override name = 'TooEarly';
}

/**
 * Ends an open charge: replaces the estimate by `usage`, whose cost may be known already, in the charged windows and in the log; null keeps the
 * estimate. Idempotent. False when the charge has not reached its counter yet.
 */
export async function settleCharge(
  transaction: <T>(work: (tx: Db) => Promise<T>) => Promise<T>,
  row: openCharges.OpenCharge,
  usage: TokenUsage | Usage | null,
  now: number,
): Promise<boolean> {
  const { price, counters } = JSON.parse(row.terms) as Terms;
  const used = usage && ('costUnits' in usage ? usage : usageAtPrice(price, usage));
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

/** Settling and logging may happen in any order; the first one stores in the row what the second one needs. */
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
  return { counter: counterRefOf(one), units: usedUnits(one, used) - chargedUnits, ...terms };
}
