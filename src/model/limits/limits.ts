/** Defines what all budgets and rate limits share: exact amounts, reset schedules and cross-field rules. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { Timestamp } from '../wire/timestamp.ts';

const microsPerDollar = 1_000_000;
/** Up to this bound the distance between neighbouring doubles is below one micro-unit, so each micro-unit is exact. */
export const amountMax = 2 ** 33;

/**
 * An amount of money, tokens or requests with at most six decimal places. A number whose shortest
 * decimal form has more places is rejected, not rounded. Within the bounds `String` writes plain
 * digits, except for amounts below 1e-6.
 */
export const Amount = z
  .number()
  .min(0)
  .max(amountMax)
  .refine((amount) => /^-?\d+(\.\d{1,6})?$/.test(String(amount)), {
    error: 'must be a decimal with at most 6 places',
  });

/** Unit of a budget. */
export type UsageType = 'cost' | 'tokens' | 'requests';

/**
 * The whole units in which an amount is stored and counted: micro-dollars of a cost, otherwise tokens
 * or requests. Exact for an amount that {@link Amount} and the limit rules accept.
 */
export function toUnits(amount: number, type: UsageType): number {
  if (type !== 'cost') return amount;
  const [whole = '0', fraction = ''] = String(amount).split('.');
  return Number(whole) * microsPerDollar + Number(fraction.padEnd(6, '0'));
}

/**
 * The number shown to clients for whole units: the double nearest to the exact decimal. Counted units
 * can exceed the range of a number, so they are a bigint.
 */
export function fromUnits(units: number | bigint, type: UsageType): number {
  if (type !== 'cost') return Number(units);
  if (typeof units === 'number') return units / microsPerDollar;
  const perDollar = BigInt(microsPerDollar);
  return Number(units / perDollar) + Number(units % perDollar) / microsPerDollar;
}

const PeriodicReset = z.enum(['weekly', 'monthly']);
type PeriodicReset = z.infer<typeof PeriodicReset>;

/** When a budget resets (docs/explanation/jobs.md, Windows). At most one of the two periods may be set. */
export const scheduleFields = {
  periodic_reset: described(
    PeriodicReset.nullable().optional(),
    'When usage resets: on Mondays or on the first of the month, at 00:00 UTC.',
  ),
  periodic_reset_days: described(
    z.int().min(1).max(365).nullable().optional(),
    'Usage resets every this many days at 00:00 UTC; excludes periodic_reset.',
  ),
  next_usage_reset_at: described(
    Timestamp.nullable().optional(),
    'First reset of the schedule, from the start of that day in UTC; requires one of the two periods.',
    { examples: ['2030-01-01T00:00:00Z'] },
  ),
};

/** Amount that a budget grants beyond itself while the database is unavailable (docs/explanation/limits.md, Outages). */
export const allowanceField = {
  on_outage_allowance: described(
    Amount.positive().nullable().optional(),
    'Amount that each gateway may use beyond what it holds while the database is unavailable; null or never set: requests are refused.',
    { examples: [5] },
  ),
};

export interface LimitFields {
  /** Defaults to cost. */
  readonly type?: UsageType | undefined;
  readonly credit_limit?: number | undefined;
  readonly alert_threshold?: number | null | undefined;
  readonly on_outage_allowance?: number | null | undefined;
  readonly periodic_reset?: PeriodicReset | null | undefined;
  readonly periodic_reset_days?: number | null | undefined;
  readonly next_usage_reset_at?: string | null | undefined;
}

/** Returns the first rule that the terms of a budget violate, or undefined. */
export function findLimitFault(
  terms: LimitFields,
): { field: keyof LimitFields; message: string } | undefined {
  const { credit_limit: limit, alert_threshold: threshold, type = 'cost' } = terms;
  for (const field of ['credit_limit', 'alert_threshold', 'on_outage_allowance'] as const) {
    if (type === 'cost' || Number.isInteger(terms[field] ?? 0)) continue;
    return { field, message: `must be a whole number of ${type}` };
  }
  if (typeof threshold === 'number' && limit !== undefined && threshold > limit) {
    return { field: 'alert_threshold', message: 'must not exceed credit_limit' };
  }
  const everyPeriod = typeof terms.periodic_reset === 'string';
  const everyDays = typeof terms.periodic_reset_days === 'number';
  if (everyPeriod && everyDays) {
    return { field: 'periodic_reset_days', message: 'excludes periodic_reset' };
  }
  if (typeof terms.next_usage_reset_at === 'string' && !everyPeriod && !everyDays) {
    const message = 'requires periodic_reset or periodic_reset_days';
    return { field: 'next_usage_reset_at', message };
  }
  return undefined;
}

/** Refinement for schemas of budgets. */
export function checkLimitRules(terms: LimitFields, ctx: z.RefinementCtx): void {
  const fault = findLimitFault(terms);
  if (fault === undefined) return;
  ctx.addIssue({ code: 'custom', path: [fault.field], message: fault.message });
}

/** One limit on requests or tokens in a unit of time. */
export const RateLimit = z.strictObject({
  type: described(z.enum(['requests', 'tokens']), 'What is counted.'),
  unit: described(
    z.enum(['rpd', 'rph', 'rpm', 'rps', 'rpw']),
    'Period of the limit: a day, an hour, a minute, a second or a week.',
  ),
  value: described(z.int().min(0), 'Maximum requests or tokens in that period.', {
    examples: [60],
  }),
});
export type RateLimit = z.infer<typeof RateLimit>;
