/** Shows budgets and rate limits in words, and how much of a budget the log accounts for. */
import { useMemo } from 'preact/hooks';
import { useReply } from '../api/use-reply.ts';
import { Problem } from './page.tsx';
import { At, formatCount, formatDollars, Share } from './text.tsx';

/** A budget as keys, workspaces and policies have it. */
interface Budget {
  readonly type?: 'cost' | 'tokens' | 'requests';
  readonly credit_limit: number;
  readonly periodic_reset?: 'weekly' | 'monthly' | null;
  readonly periodic_reset_days?: number | null;
}

interface RateLimit {
  readonly type: 'requests' | 'tokens';
  readonly unit: keyof typeof periods;
  readonly value: number;
}

/** Moments that decide when the current window of a budget began. */
interface WindowTimes {
  readonly created_at: string;
  readonly last_reset_at: string | null;
  readonly next_usage_reset_at?: string | null;
}

interface LoggedUse {
  readonly cost: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly requests: number;
}

const periods = { rps: 'second', rpm: 'minute', rph: 'hour', rpd: 'day', rpw: 'week' } as const;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** The longest range that analytics accept. */
const rangeMaxMs = 365 * dayMs;

/** `$4.20`, `1,000 tokens`. */
export const formatAmount = (type: Budget['type'], value: number): string =>
  type === 'tokens' || type === 'requests' ? `${formatCount(value)} ${type}` : formatDollars(value);

/** The same without the unit of counts. */
export const formatBare = (type: Budget['type'], value: number): string =>
  type === 'tokens' || type === 'requests' ? formatCount(value) : formatDollars(value);

/** `$500.00 a month`. */
export function budgetText(budget: Budget): string {
  const { type, credit_limit: limit, periodic_reset: period, periodic_reset_days: days } = budget;
  const amount = formatAmount(type, limit);
  if (period === 'monthly') return `${amount} a month`;
  if (period === 'weekly') return `${amount} a week`;
  if (days !== null && days !== undefined) return `${amount} in ${days} days`;
  return `${amount} in all`;
}

/** `600 requests a minute`. */
export const rateText = ({ type, unit, value }: RateLimit): string =>
  `${formatCount(value)} ${type} a ${periods[unit]}`;

/** Milliseconds since the epoch at which the current window of the budget began. */
export function windowStartOf(budget: Budget, times: WindowTimes, now: number): number {
  const { periodic_reset: period, periodic_reset_days: days } = budget;
  const next = times.next_usage_reset_at;
  const today = new Date(now);
  const month = Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), 1);
  const midnight = Math.floor(now / dayMs) * dayMs;
  const monday = midnight - ((today.getUTCDay() + 6) % 7) * dayMs;
  const starts = [Date.parse(times.created_at)];
  if (times.last_reset_at !== null) starts.push(Date.parse(times.last_reset_at));
  if (period === 'monthly') starts.push(month);
  if (period === 'weekly') starts.push(monday);
  if (typeof days === 'number' && next != null) starts.push(Date.parse(next) - days * dayMs);
  return Math.max(...starts);
}

/** Returns the figure that a budget counts. */
export function usedOf(type: Budget['type'], used: LoggedUse): number {
  if (type === 'requests') return used.requests;
  return type === 'tokens' ? used.input_tokens + used.output_tokens : used.cost;
}

interface BudgetUseProps {
  readonly budget: Budget;
  readonly times: WindowTimes;
  readonly filter: { readonly api_key_id: string } | { readonly workspace_id: string };
}

/** The log's account of a budget's current window, with one request. */
export function BudgetUse({ budget, times, filter }: BudgetUseProps) {
  const { start, query } = useMemo(() => {
    const now = Date.now();
    const first = Math.max(windowStartOf(budget, times, now), now - rangeMaxMs);
    const end = Math.ceil(now / hourMs) * hourMs;
    const range = {
      time_of_generation_min: new Date(first).toISOString(),
      time_of_generation_max: new Date(end).toISOString(),
    };
    return { start: first, query: { ...filter, ...range } };
  }, [JSON.stringify([budget, times, filter])]);
  const { body, error } = useReply('/v1/analytics/summary', { query });
  const format = (value: number): string => formatBare(budget.type, value);
  return (
    <>
      {error !== null && <Problem error={error} />}
      {body !== null && (
        <p>
          <Share used={usedOf(budget.type, body)} of={budget.credit_limit} format={format} />
        </p>
      )}
      <p class="quiet">
        Used since <At at={new Date(start).toISOString()} />, from the log in whole hours. The
        gateway counts exactly, so near the limit it decides earlier or later than this figure.
      </p>
    </>
  );
}
