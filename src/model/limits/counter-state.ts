/** Derives from a usage counter and its limit whether the budget is exhausted and which alerts were sent. */

/** The limit and the alert threshold of a counter, in whole units. */
export interface UsageTerms {
  readonly creditLimitUnits: number;
  readonly alertThresholdUnits: number | null;
}

/** The state of a counter, in whole units. */
export interface CounterState {
  readonly usedUnits: bigint;
  /** The threshold reported by the last threshold alert; null when none was sent. */
  readonly thresholdAlertUnits: bigint | null;
  /** The usage or limit reported by the last exhaustion alert; null when none was sent. */
  readonly exhaustedAlertUnits: bigint | null;
  /** The smallest request that was refused; null for none. */
  readonly refused: RefusedUnits | null;
}

/** A request that a limit has refused although a fresh budget would have covered it. */
export interface RefusedUnits {
  /** Least units that the request needed. */
  readonly units: bigint;
  /** The limit that refused it. */
  readonly limitUnits: bigint;
}

/**
 * Whether the limit is used up, or leaves less than a request needed that it has refused. Computed from the counter on
 * every call, so it can never be out of date. A raised limit is not exhausted until it is used up or refuses again.
 */
export function isExhausted(
  { usedUnits, refused }: Pick<CounterState, 'usedUnits' | 'refused'>,
  terms: UsageTerms,
): boolean {
  const limit = BigInt(terms.creditLimitUnits);
  if (usedUnits >= limit) return true;
  if (refused === null || refused.limitUnits < limit) return false;
  return usedUnits + refused.units > limit;
}

/** False again once the limit is raised above the usage that the alert reported. */
export function isExhaustedAlertSent(
  { exhaustedAlertUnits }: CounterState,
  terms: UsageTerms,
): boolean {
  return exhaustedAlertUnits !== null && exhaustedAlertUnits >= BigInt(terms.creditLimitUnits);
}

/** False again once the threshold is raised or removed, or a raised limit reactivates the budget. */
export function isThresholdAlertSent(usage: CounterState, terms: UsageTerms): boolean {
  const { thresholdAlertUnits, exhaustedAlertUnits } = usage;
  if (thresholdAlertUnits === null || terms.alertThresholdUnits === null) return false;
  const reactivated = exhaustedAlertUnits !== null && !isExhaustedAlertSent(usage, terms);
  return !reactivated && thresholdAlertUnits >= BigInt(terms.alertThresholdUnits);
}
