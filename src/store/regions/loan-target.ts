/** Decides how many units of a limit a region holds at home in advance. */
import type { RegionLoanRow } from './region-loans.ts';

/** Usage that continues at one rate sums up to what this time of it uses. */
const recentMs = { budget: 4 * 3_600_000, rate: 10_000 };
/** Time for which units of a rate limit are held. */
const rateAheadMs = 1_000;
/** Largest share of a rate limit that is held in advance. */
const rateShareMax = 0.01;
/** Share of the unused units that all regions together hold for the next hours. */
const heldShare = 0.25;
/** How long nothing is held in advance after others lacked units. */
const scarceMs = 10_000;

function fadedTo(loan: RegionLoanRow, units: number, nowMs: number): number {
  const span = loan.is_rate === 1 ? recentMs.rate : recentMs.budget;
  return units * Math.exp(Math.min(0, loan.noted_at - nowMs) / span);
}

type Use = Pick<RegionLoanRow, 'noted_units' | 'recent_units' | 'others_units' | 'noted_at'>;

/** The recent usage after the region has used `used` units in all. */
export function recentUse(loan: RegionLoanRow, used: number, nowMs: number): Use {
  const { noted_units, recent_units, others_units, noted_at } = loan;
  // Fades only with the next usage, because whole units would be rounded up again and again.
  if (used === noted_units) return { noted_units, recent_units, others_units, noted_at };
  return {
    noted_units: used,
    recent_units: Math.max(0, Math.round(fadedTo(loan, recent_units, nowMs)) + used - noted_units),
    others_units: Math.round(fadedTo(loan, others_units, nowMs)),
    noted_at: nowMs,
  };
}

/**
 * Far from the limit a region holds what it used in the last four hours, so that it can go on for as long without home. All
 * regions together hold at most a quarter of what is unused, each by its part of the recent usage.
 */
export function targetUnits(loan: RegionLoanRow, nowMs: number): number {
  const { is_rate, limit_units, home_used_units, scarce_at } = loan;
  if (scarce_at !== null && nowMs - scarce_at < scarceMs) return 0;
  const own = fadedTo(loan, loan.recent_units, nowMs);
  if (own < 1) return 0;
  if (is_rate === 1) {
    const soon = (own * rateAheadMs) / recentMs.rate;
    return Math.floor(Math.min(soon, limit_units * rateShareMax));
  }
  const unused = Math.max(0, limit_units - home_used_units);
  const all = own + fadedTo(loan, loan.others_units, nowMs);
  return Math.floor(Math.min(own, (unused * heldShare * own) / all));
}
