/** Divides what is left of a rate limit among the processes that share it while the bank is away. */

/** The processes that share the limits of an organisation, as far as one of them knows. */
export interface Sharing {
  /** Null before they were counted. */
  readonly holders: number | null;
  /** How many of them come before this one, in an order that all of them share; null when unknown. */
  readonly rank: number | null;
}

/**
 * The shares of all ranks together are what is left: the first ones get one unit more than the others. `offset`, equal in
 * all processes, spreads these over the processes. A process without a rank gets no such unit.
 */
export function rateShare(left: number, { holders, rank }: Sharing, offset: number): number {
  const count = Math.max(1, holders ?? 1);
  const whole = Math.floor(left / count);
  if (count === 1 || rank === null) return whole;
  return whole + ((rank + offset) % count < left % count ? 1 : 0);
}
