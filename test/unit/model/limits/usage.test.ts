/** Tests exhaustion and alerts of counters: one alert per episode. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CounterState,
  isExhausted,
  isExhaustedAlertSent,
  isThresholdAlertSent,
} from '../../../../src/model/limits/counter-state.ts';

const usage = (fields: Partial<CounterState> = {}): CounterState => ({
  usedUnits: 12n,
  thresholdAlertUnits: 5n,
  exhaustedAlertUnits: 12n,
  refused: null,
  ...fields,
});
const terms = (creditLimitUnits: number, alertThresholdUnits: number | null = 5) => ({
  creditLimitUnits,
  alertThresholdUnits,
});

it('exhausts a budget exactly when its usage reaches its limit, beyond 2^53 too', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), fc.nat(2 ** 31), (used, limit) => {
      expect(isExhausted({ usedUnits: used, refused: null }, terms(limit))).toBe(
        used >= BigInt(limit),
      );
    }),
  );
  const limit = 2 ** 53 - 1;
  expect(isExhausted({ usedUnits: BigInt(limit), refused: null }, terms(limit))).toBe(true);
  expect(isExhausted({ usedUnits: BigInt(limit) - 1n, refused: null }, terms(limit))).toBe(false);
});

it.each([
  ['leaves less than a refused request needs', 91n, 100n, 100, true],
  ['leaves enough for the refused request again', 90n, 100n, 100, false],
  ['was raised since, whatever is left', 91n, 100n, 101, false],
  ['was lowered since', 85n, 100n, 94, true],
])('knows whether a limit is exhausted that %s', (_, usedUnits, limitUnits, limit, is) => {
  const refused = { units: 10n, limitUnits };
  expect(isExhausted({ usedUnits, refused }, terms(limit))).toBe(is);
});

describe('alerts', () => {
  it('stays sent while a raised limit does not exceed the usage, and re-arms once it does', () => {
    for (const limit of [10, 11, 12]) {
      expect(isExhaustedAlertSent(usage(), terms(limit))).toBe(true);
      expect(isThresholdAlertSent(usage(), terms(limit))).toBe(true);
    }
    expect(isExhaustedAlertSent(usage(), terms(13))).toBe(false);
    expect(isThresholdAlertSent(usage(), terms(13))).toBe(false);
  });

  it.each([
    ['raised', 7, false],
    ['removed', null, false],
    ['lowered', 4, true],
    ['repeated', 5, true],
  ])('remembers whether the alert was sent after the threshold is %s', (_, threshold, sent) => {
    expect(isThresholdAlertSent(usage(), terms(10, threshold))).toBe(sent);
    expect(isExhaustedAlertSent(usage(), terms(10, threshold))).toBe(true);
  });

  it('reports nothing as sent where no alert was sent', () => {
    const silent = usage({ thresholdAlertUnits: null, exhaustedAlertUnits: null });
    expect(isExhaustedAlertSent(silent, terms(1))).toBe(false);
    expect(isThresholdAlertSent(silent, terms(1))).toBe(false);
  });
});
