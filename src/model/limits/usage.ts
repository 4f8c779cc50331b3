/** Knows what a counter says beside the terms it is held to: used up or not, and which alerts went out. */

/** What a counter is held to, in whole units. */
export interface UsageTerms {
  readonly creditLimitUnits: number;
  readonly alertThresholdUnits: number | null;
}

/** What a counter has counted, in whole units. */
export interface Usage {
  readonly usedUnits: bigint;
  /** The threshold that the last alert about one told of; null when none went out. */
  readonly thresholdAlertUnits: bigint | null;
  /** The usage that the last alert about an exhausted budget told of; null when none went out. */
  readonly exhaustedAlertUnits: bigint | null;
}

/** Nothing is stored that could be late: a budget is exhausted for as long as this holds. */
export function isExhausted({ usedUnits }: Pick<Usage, 'usedUnits'>, terms: UsageTerms): boolean {
  return usedUnits >= BigInt(terms.creditLimitUnits);
}

/** A limit raised above what the alert told of makes it a thing of the past. */
export function isExhaustedAlertSent({ exhaustedAlertUnits }: Usage, terms: UsageTerms): boolean {
  return exhaustedAlertUnits !== null && exhaustedAlertUnits >= BigInt(terms.creditLimitUnits);
}

/** So does a raised or removed threshold, and a limit that revived the budget. */
export function isThresholdAlertSent(usage: Usage, terms: UsageTerms): boolean {
  const { thresholdAlertUnits, exhaustedAlertUnits } = usage;
  if (thresholdAlertUnits === null || terms.alertThresholdUnits === null) return false;
  const revived = exhaustedAlertUnits !== null && !isExhaustedAlertSent(usage, terms);
  return !revived && thresholdAlertUnits >= BigInt(terms.alertThresholdUnits);
}
