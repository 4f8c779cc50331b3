/** Computes from when on log rows are kept. */
import { startOfDay } from '../limits/periods.ts';

const dayMs = 86_400_000;

/** Start of the first day within the retention; null when all days are retained. */
export function startOfRetention(now: number, days: number | null): number | null {
  if (days === null) return null;
  return startOfDay(now - days * dayMs);
}
