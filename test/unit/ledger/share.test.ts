/** Verifies that the shares of a rate limit in an outage are together what is left of it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rateShare } from '../../../src/ledger/share.ts';

describe('the share of a gateway', () => {
  it('sums up to what is left over all ranks, whatever the number of gateways', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 1_000 }),
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 0, max: 2 ** 32 - 1 }),
        (left, holders, offset) => {
          const shares = Array.from({ length: holders }, (_, rank) =>
            rateShare(left, { holders, rank }, offset),
          );
          expect(shares.reduce((sum, share) => sum + share, 0)).toBe(left);
          expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
        },
      ),
    );
  });

  it('is all that is left for a gateway that knows of no others, and no odd unit without a rank', () => {
    expect(rateShare(3, { holders: null, rank: null }, 7)).toBe(3);
    expect(rateShare(3, { holders: 2, rank: null }, 7)).toBe(1);
  });

  it('gives the odd units of different limits to different gateways', () => {
    const first = [0, 1, 2].map((offset) => rateShare(1, { holders: 3, rank: 0 }, offset));
    expect(first.toSorted()).toEqual([0, 0, 1]);
  });
});
