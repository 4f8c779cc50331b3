/** Tests budgets and rate limits: exact amounts, and the rules that connect fields. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RateLimits, UsageLimits } from '../../../../src/model/limits/key-limits.ts';
import { Amount, fromUnits, toUnits } from '../../../../src/model/limits/limits.ts';
import { WorkspaceUsageLimits } from '../../../../src/model/limits/workspace-limits.ts';

describe('an amount', () => {
  it('converts any count of micro-units to a number and back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 33 * 1_000_000 }), (micros) => {
        const amount = fromUnits(micros, 'cost');
        expect(toUnits(Amount.parse(amount), 'cost')).toBe(micros);
      }),
    );
  });

  it('converts up to six decimal places exactly', () => {
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.nat(999_999), (whole, fraction) => {
        const text = `${whole}.${String(fraction).padStart(6, '0')}`;
        expect(toUnits(Amount.parse(Number(text)), 'cost')).toBe(whole * 1_000_000 + fraction);
      }),
    );
  });

  it.each([
    [0, 0],
    [-0, 0],
    [0.000001, 1],
    [0.1, 100_000],
    [2 ** 33, 2 ** 33 * 1_000_000],
  ])('converts %d to %d micro-units', (amount, micros) => {
    expect(toUnits(Amount.parse(amount), 'cost')).toBe(micros);
  });

  it('counts tokens and requests as whole numbers, and keeps text beyond the range of a number', () => {
    fc.assert(
      fc.property(
        fc.nat(2 ** 33),
        fc.constantFrom('tokens' as const, 'requests' as const),
        (n, type) => {
          expect(toUnits(n, type)).toBe(n);
          expect(fromUnits(BigInt(n), type)).toBe(n);
        },
      ),
    );
  });

  it('returns the nearest number to the exact decimal when micro-dollars exceed the range of a number', () => {
    expect(fromUnits(2n ** 63n - 1n, 'cost')).toBe(9223372036854.775);
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 53n - 1n }), (units) => {
        expect(fromUnits(units, 'cost')).toBeCloseTo(fromUnits(Number(units), 'cost'), 5);
      }),
    );
  });

  it.each([
    -1,
    1e308,
    0.1 + 0.2,
    2 ** 33 + 1,
    2 ** 53 + 1,
    1e-7,
    0.0000015,
    Number.NaN,
    Infinity,
    '5',
    null,
  ])('rejects %s', (amount) => expect(Amount.safeParse(amount).success).toBe(false));
});

describe('usage limits', () => {
  const faultOf = (limits: unknown): string | undefined =>
    UsageLimits.safeParse(limits).error?.issues[0]?.path.join('.');

  it('keeps the form in which they were sent', () => {
    const limits = { credit_limit: 2.5, alert_threshold: 2.5, periodic_reset: null };
    expect(UsageLimits.parse(limits)).toEqual(limits);
  });

  it.each([
    ['credit_limit', { type: 'cost' }],
    ['credit_limit', { credit_limit: 0.99 }],
    ['alert_threshold', { credit_limit: 5, alert_threshold: 5.000001 }],
    ['periodic_reset_days', { credit_limit: 5, periodic_reset: 'weekly', periodic_reset_days: 7 }],
    ['periodic_reset_days', { credit_limit: 5, periodic_reset_days: 0 }],
    ['periodic_reset_days', { credit_limit: 5, periodic_reset_days: 366 }],
    ['periodic_reset_days', { credit_limit: 5, periodic_reset_days: 1.5 }],
    ['periodic_reset', { credit_limit: 5, periodic_reset: 'daily' }],
    ['next_usage_reset_at', { credit_limit: 5, next_usage_reset_at: '2027-01-01T00:00:00Z' }],
    ['type', { credit_limit: 5, type: 'requests' }],
    ['', { credit_limit: 5, current_usage: 0 }],
  ])('reports the fault at %s', (path, limits) => expect(faultOf(limits)).toBe(path));

  it('accepts at most one limit of a workspace, in whole numbers', () => {
    expect(WorkspaceUsageLimits.safeParse([{ credit_limit: 1 }]).success).toBe(true);
    expect(WorkspaceUsageLimits.safeParse([{ credit_limit: 1.5 }]).success).toBe(false);
    const two = [{ credit_limit: 1 }, { credit_limit: 2 }];
    expect(WorkspaceUsageLimits.safeParse(two).success).toBe(false);
  });
});

describe('rate limits', () => {
  it('accepts five units, and each pair of type and unit once', () => {
    const units = ['rpd', 'rph', 'rpm', 'rps', 'rpw'];
    const limits = units.flatMap((unit) =>
      ['requests', 'tokens'].map((type) => ({ type, unit, value: 0 })),
    );
    expect(RateLimits.parse(limits)).toEqual(limits);
    expect(RateLimits.safeParse([...limits, limits[0]]).success).toBe(false);
  });

  it.each([
    { type: 'requests', unit: 'rpm', value: -1 },
    { type: 'requests', unit: 'rpm', value: 1.5 },
    { type: 'requests', unit: 'rpy', value: 1 },
    { type: 'requests', unit: 'rpm' },
  ])('rejects %j', (limit) => expect(RateLimits.safeParse([limit]).success).toBe(false));

  it('rejects thousands of limits', () => {
    const limits = Array.from({ length: 10_000 }, () => ({
      type: 'requests',
      unit: 'rpm',
      value: 1,
    }));
    expect(RateLimits.safeParse(limits).success).toBe(false);
  });
});
