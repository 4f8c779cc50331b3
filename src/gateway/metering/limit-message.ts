/** Describes to callers which limit rejected a request: amount, usage, need and reset time. */
import type { Limit, LimitReached } from '../../ledger/limit.ts';
import { fromUnits } from '../../model/limits/limits.ts';
import { formatTimestamp } from '../../model/wire/timestamp.ts';

/** `API key ci has reached its limit of 100 tokens: 90 used, 20 needed; resets at 2026-12-01T00:00:00Z` */
export function limitMessage({ limit, usage, unitsMin }: LimitReached): string {
  const { label, limitUnits, type, isRate, endsAt } = limit;
  const usedUp = usage !== null && usage.usedUnits >= limitUnits;
  const facts = [
    ...(usage === null ? [] : [`${amount(limit, usage.usedUnits)} used`]),
    ...(usage === null || usage.reservedUnits === 0
      ? []
      : [`${amount(limit, usage.reservedUnits)} reserved by running requests`]),
    // Obvious for a request that counts as one, and when nothing is left.
    ...(type === 'requests' || usedUp ? [] : [`at least ${amount(limit, unitsMin)} needed`]),
  ];
  const subject = label.charAt(0).toUpperCase() + label.slice(1);
  const reset = endsAt === null ? 'it never resets' : `it resets at ${formatTimestamp(endsAt)}`;
  const bound = type === 'cost' ? amount(limit, limitUnits) : `${limitUnits} ${type}`;
  const window = isRate ? ` in ${windowText(limit)}` : '';
  const details = [facts.join(', '), reset].filter((part) => part !== '');
  return `${subject} has reached its limit of ${bound}${window}: ${details.join('; ')}`;
}

function amount({ type }: Pick<Limit, 'type'>, units: number): string {
  const count = fromUnits(units, type);
  return type === 'cost' ? `$${count}` : String(count);
}

const windows = [
  [604_800_000, 'week'],
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
] as const;

/** Rate limits count in windows of fixed length. */
function windowText({ windowStart, endsAt }: Pick<Limit, 'windowStart' | 'endsAt'>): string {
  const ms = (endsAt ?? windowStart) - windowStart;
  const found = windows.find(([length]) => ms >= length);
  return `a ${found?.[1] ?? 'second'}`.replace('a hour', 'an hour');
}
