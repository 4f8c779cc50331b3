/** Draws mutants at random by a seed, and estimates the score of all from those drawn. */
import { SeededRandom } from '../../test/support/run/seeded-random.ts';

/**
 * Draws without repetition. A larger count with the same seed contains the smaller draw, so a sample
 * can be extended.
 */
export function draw<T>(items: readonly T[], count: number, seed: number): T[] {
  const random = new SeededRandom(seed);
  const rest = [...items];
  const drawn: T[] = [];
  while (drawn.length < count && rest.length > 0) {
    const index = random.below(rest.length);
    drawn.push(rest[index]!);
    rest[index] = rest.at(-1)!;
    rest.pop();
  }
  return drawn;
}

/** Shares from 0 to 1. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Standard deviations that contain 95 % of a normal distribution. */
const deviations = 1.96;

/** Returns Wilson's 95 % interval of a share; a count of 0 is everything from 0 to 1. */
export function intervalOf(hits: number, count: number): Interval {
  if (count === 0) return { low: 0, high: 1 };
  const share = hits / count;
  const square = deviations ** 2;
  const middle = (share + square / (2 * count)) / (1 + square / count);
  const spread =
    (deviations / (1 + square / count)) *
    Math.sqrt((share * (1 - share)) / count + square / (4 * count ** 2));
  return { low: Math.max(0, middle - spread), high: Math.min(1, middle + spread) };
}
