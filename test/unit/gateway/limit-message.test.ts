/** Tests the messages about limits that reject a request. */
import { describe, expect, it } from 'vitest';
import { limitMessage } from '../../../src/gateway/metering/limit-message.ts';
import { type Limit, LimitReached } from '../../../src/ledger/limit.ts';

const limit: Limit = {
  organisationId: 'o',
  subjectKind: 'api_key',
  subjectId: 'k',
  windowStart: Date.parse('2026-11-01T00:00:00Z'),
  endsAt: Date.parse('2026-12-01T00:00:00Z'),
  valueKey: '',
  type: 'tokens',
  limitUnits: 1_000,
  alertThresholdUnits: null,
  isRate: false,
  isHard: true,
  label: 'API key ci',
};

describe('limitMessage', () => {
  it.each([
    [
      'a budget of tokens with too little left',
      limit,
      { usedUnits: 900, reservedUnits: 50 },
      80,
      'API key ci has reached its limit of 1000 tokens: 900 used, 50 reserved by running requests, ' +
        'at least 80 needed; it resets at 2026-12-01T00:00:00.000Z',
    ],
    [
      'a budget in dollars that never resets',
      { ...limit, type: 'cost', limitUnits: 2_500_000, endsAt: null },
      { usedUnits: 2_500_001, reservedUnits: 0 },
      12,
      'API key ci has reached its limit of $2.5: $2.500001 used; it never resets',
    ],
    [
      'a rate limit',
      {
        ...limit,
        type: 'requests',
        limitUnits: 2,
        isRate: true,
        endsAt: limit.windowStart + 3_600_000,
      },
      { usedUnits: 2, reservedUnits: 0 },
      1,
      'API key ci has reached its limit of 2 requests in an hour: 2 used; it resets at 2026-11-01T01:00:00.000Z',
    ],
    [
      'a request larger than the limit, before any usage is known',
      limit,
      null,
      2_000,
      'API key ci has reached its limit of 1000 tokens: at least 2000 needed; ' +
        'it resets at 2026-12-01T00:00:00.000Z',
    ],
  ] as const)('states amount, usage and reset time for %s', (_, reached, usage, unitsMin, text) => {
    expect(limitMessage(new LimitReached(reached, usage, unitsMin))).toBe(text);
  });
});
