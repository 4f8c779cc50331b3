/** Verifies what a limit counts: the most that a request can use, the output that units cover, and what it used. */
import { describe, expect, it } from 'vitest';
import {
  boundUnits,
  type Limit,
  LimitReached,
  LimitsUnknown,
  outputWithin,
  PriceUnknown,
  type UsageBound,
  usageAtPrice,
  usedUnits,
} from '../../../src/ledger/limit.ts';
import type { Price } from '../../../src/model/pricing/pricing.ts';

const flat = {
  requestPico: 0,
  tiers: [],
  cachedInputPico: null,
  cacheWritePico: null,
  cacheWriteHourPico: null,
};
/** One micro-dollar an input token, two an output token. */
const price: Price = { ...flat, inputPico: 1e6, outputPico: 2e6 };
/** Three and four. */
const boundPrice: Price = { ...flat, inputPico: 3e6, outputPico: 4e6 };
const bound: UsageBound = {
  inputTokens: 100,
  likelyInputTokens: 60,
  outputTokens: 50,
  outputTokensMin: 1,
  price,
};
const limitOf = (type: Limit['type'], isRate = false): Limit => ({
  organisationId: 'o',
  subjectKind: 'api_key',
  subjectId: 's',
  windowStart: 0,
  endsAt: null,
  valueKey: '',
  type,
  limitUnits: 1_000,
  alertThresholdUnits: null,
  isRate,
  isHard: true,
  label: 'API key ci',
});
const usage = { inputTokens: 7, outputTokens: 5, cachedInputTokens: 0, cacheWriteTokens: 0 };

describe('boundUnits', () => {
  it.each([
    ['requests', false, 1],
    ['requests', true, 1],
    ['tokens', true, 60],
    ['tokens', false, 140],
    ['cost', false, 100 + 2 * 40],
  ] as const)('bounds %s with rate %j by %d units', (type, isRate, units) => {
    expect(boundUnits(limitOf(type, isRate), bound, 40)).toBe(units);
  });

  it('uses the price that bounds the request where it has one', () => {
    expect(boundUnits(limitOf('cost'), { ...bound, boundPrice }, 40)).toBe(300 + 160);
  });

  it('throws PriceUnknown for a cost without a price, and for nothing else', () => {
    const unpriced = { ...bound, price: null, boundPrice };
    expect(() => boundUnits(limitOf('cost'), unpriced, 40)).toThrow(PriceUnknown);
    expect(boundUnits(limitOf('tokens'), unpriced, 40)).toBe(140);
  });
});

describe('outputWithin', () => {
  it.each([
    ['requests', false, 1, 50],
    ['requests', false, 0, -1],
    ['tokens', true, 60, 50],
    ['tokens', true, 59, -1],
    ['tokens', false, 130, 30],
    ['tokens', false, 90, -10],
    ['cost', false, 180, 40],
    ['cost', false, 99, -1],
  ] as const)(
    'covers for %s with rate %j and %d units an output of %d',
    (type, isRate, units, output) => {
      expect(outputWithin(limitOf(type, isRate), bound, units)).toBe(output);
    },
  );

  it('uses the price that bounds the request where it has one', () => {
    expect(outputWithin(limitOf('cost'), { ...bound, boundPrice }, 340)).toBe(10);
  });

  it('throws PriceUnknown for a cost without a price', () => {
    const unpriced = { ...bound, price: null, boundPrice };
    expect(() => outputWithin(limitOf('cost'), unpriced, 180)).toThrow(PriceUnknown);
  });
});

describe('usedUnits', () => {
  it('counts one request, all tokens, or the cost at the price', () => {
    const used = usageAtPrice(price, usage);
    expect(used).toEqual({ ...usage, costUnits: 17 });
    expect(usedUnits(limitOf('requests'), used)).toBe(1);
    expect(usedUnits(limitOf('tokens'), used)).toBe(12);
    expect(usedUnits(limitOf('cost'), used)).toBe(17);
  });

  it('charges nothing without a price', () => {
    expect(usageAtPrice(null, usage).costUnits).toBe(0);
  });
});

it('names the limit and the cause in its errors', () => {
  const limit = limitOf('cost');
  const reached = new LimitReached(limit, { usedUnits: 1, reservedUnits: 2 }, 3);
  expect(reached).toMatchObject({ name: 'LimitReached', limit, unitsMin: 3 });
  expect(reached.message).toBe('API key ci has reached its limit');
  const unknown = new PriceUnknown(limit);
  expect(unknown).toMatchObject({ name: 'PriceUnknown', limit });
  expect(unknown.message).toContain('API key ci limits the cost');
  const cause = new Error('gone');
  const lost = new LimitsUnknown(cause, 'advice');
  expect(lost).toMatchObject({ name: 'LimitsUnknown', hint: 'advice', cause });
  expect(lost.message).toContain('cannot be looked up');
  expect(new LimitsUnknown(cause).hint).toBe(null);
});
