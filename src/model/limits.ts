/** Knows budgets and rate limits: how they are written, which amounts are exact, and which rules bind them. */
import { z } from 'zod';
import { Timestamp } from './timestamp.ts';

const microsPerDollar = 1_000_000;
/** Up to here neighbouring numbers lie closer together than one micro-unit, so each has its own. */
const amountMax = 2 ** 33;
const rateLimitsMax = 20;

/**
 * An amount of money, tokens or requests: exact to at most six decimal places. What binary
 * fractions cannot tell from such a decimal is refused, not rounded. (Within the bounds `String`
 * writes plain digits, save for amounts below 1e-6.)
 */
export const Amount = z
  .number()
  .min(0)
  .max(amountMax)
  .refine((amount) => /^\d+(\.\d{1,6})?$/.test(String(amount)), {
    error: 'must be a decimal with at most 6 places',
  });

/** What a budget counts. */
export type UsageType = 'cost' | 'tokens' | 'requests';

/**
 * The whole units that an amount is kept and counted in: micro-dollars of a cost, else the tokens or
 * requests themselves. Exact, for an amount that {@link Amount} has parsed and no rule faults.
 */
export function toUnits(amount: number, type: UsageType): number {
  if (type !== 'cost') return amount;
  const [whole = '0', fraction = ''] = String(amount).split('.');
  return Number(whole) * microsPerDollar + Number(fraction.padEnd(6, '0'));
}

/**
 * The number that a client reads for whole units: the nearest to the exact decimal. Units may be
 * more than a number can hold, so they come as bigint where they were counted.
 */
export function fromUnits(units: number | bigint, type: UsageType): number {
  if (type !== 'cost') return Number(units);
  if (typeof units === 'number') return units / microsPerDollar;
  const perDollar = BigInt(microsPerDollar);
  return Number(units / perDollar) + Number(units % perDollar) / microsPerDollar;
}

const PeriodicReset = z.enum(['weekly', 'monthly']);
type PeriodicReset = z.infer<typeof PeriodicReset>;

/** When a budget starts anew (docs/jobs.md, Windows); the three forms are one choice. */
const scheduleFields = {
  /** Monday or the first of the month, 00:00 UTC. */
  periodic_reset: PeriodicReset.nullable().optional(),
  /** Every so many days at 00:00 UTC; excludes `periodic_reset`. */
  periodic_reset_days: z.int().min(1).max(365).nullable().optional(),
  /** First reset of the schedule; counted from the start of that day in UTC. */
  next_usage_reset_at: Timestamp.nullable().optional(),
};

export interface LimitTerms {
  /** A cost when absent. */
  readonly type?: UsageType | undefined;
  readonly credit_limit?: number | undefined;
  readonly alert_threshold?: number | null | undefined;
  readonly periodic_reset?: PeriodicReset | null | undefined;
  readonly periodic_reset_days?: number | null | undefined;
  readonly next_usage_reset_at?: string | null | undefined;
}

/** The first rule that the terms of a budget break, or undefined. */
export function findLimitFault(
  terms: LimitTerms,
): { field: keyof LimitTerms; message: string } | undefined {
  const { credit_limit: limit, alert_threshold: threshold, type = 'cost' } = terms;
  for (const field of ['credit_limit', 'alert_threshold'] as const) {
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
    const message = 'needs periodic_reset or periodic_reset_days';
    return { field: 'next_usage_reset_at', message };
  }
  return undefined;
}

/** Refinement for a schema of limit terms. */
export function limitRules(terms: LimitTerms, ctx: z.RefinementCtx): void {
  const fault = findLimitFault(terms);
  if (fault === undefined) return;
  ctx.addIssue({ code: 'custom', path: [fault.field], message: fault.message });
}

/** Budget of an API key; an object there. */
export const UsageLimits = z
  .strictObject({
    /** What is counted; stays absent in answers when not sent. */
    type: z.enum(['cost', 'tokens']).optional(),
    credit_limit: Amount.min(1),
    alert_threshold: Amount.nullable().optional(),
    ...scheduleFields,
  })
  .superRefine(limitRules);
export type UsageLimits = z.infer<typeof UsageLimits>;

/** Budget of a workspace: whole amounts, in a list of at most one. */
export const WorkspaceUsageLimits = z
  .array(
    z
      .strictObject({
        type: z.enum(['cost', 'tokens']).optional(),
        credit_limit: z.int().min(1).max(amountMax),
        alert_threshold: z.int().min(1).max(amountMax).nullable().optional(),
        ...scheduleFields,
      })
      .superRefine(limitRules),
  )
  .max(1);
export type WorkspaceUsageLimits = z.infer<typeof WorkspaceUsageLimits>;

/** Fields of a usage-limit policy's budget; spread there, where they are top-level. */
export const policyLimitFields = {
  type: z.enum(['cost', 'tokens', 'requests']),
  credit_limit: Amount,
  alert_threshold: Amount.nullable().optional(),
  ...scheduleFields,
};

const RateLimit = z.strictObject({
  type: z.enum(['requests', 'tokens']),
  /** Per day, hour, minute, second, week. */
  unit: z.enum(['rpd', 'rph', 'rpm', 'rps', 'rpw']),
  value: z.int().min(0),
});
export type RateLimit = z.infer<typeof RateLimit>;

function isFreeOfRepeats(limits: readonly RateLimit[]): boolean {
  return new Set(limits.map(({ type, unit }) => `${type} ${unit}`)).size === limits.length;
}

/** Rate limits of an API key; a pair of type and unit once. */
export const RateLimits = z
  .array(RateLimit)
  .max(rateLimitsMax)
  .refine(isFreeOfRepeats, 'must not repeat a pair of type and unit');
export type RateLimits = z.infer<typeof RateLimits>;

/** Rate limits of a workspace: a list of at most one. */
export const WorkspaceRateLimits = z.array(RateLimit).max(1);
