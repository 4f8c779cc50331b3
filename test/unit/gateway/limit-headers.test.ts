/** Tests the response headers that report the remaining limits. */
import { describe, expect, it } from 'vitest';
import { addLimitHeaders } from '../../../src/gateway/metering/limit-headers.ts';
import type { Limit } from '../../../src/ledger/limit.ts';

const now = Date.UTC(2026, 10, 22, 12, 0, 20);
const limit: Limit = {
  organisationId: 'o',
  subjectKind: 'api_key',
  subjectId: 's',
  valueKey: '',
  windowStart: Date.UTC(2026, 10, 22, 12),
  endsAt: Date.UTC(2026, 10, 22, 12, 1),
  type: 'requests',
  limitUnits: 60,
  alertThresholdUnits: null,
  isRate: true,
  isHard: true,
  label: 'API key ci',
};
const budget: Limit = { ...limit, isRate: false, endsAt: null };

function limitHeaders(left: Parameters<typeof addLimitHeaders>[2], prefix: string, atMs: number) {
  const headers: Record<string, string> = {};
  addLimitHeaders(headers, `${prefix}usage-remaining`, left, atMs);
  return headers;
}

describe('headers of limits', () => {
  it('sends no headers where there is no limit', () => {
    expect(limitHeaders([], 'x-gateway-', now)).toEqual({});
  });

  it('sends the quota, window, remaining amount and reset time of each rate limit', () => {
    const tokens: Limit = { ...limit, type: 'tokens', limitUnits: 9_000, subjectKind: 'workspace' };
    const left = [
      { limit, leftUnits: 12 },
      { limit: tokens, leftUnits: 0 },
    ];
    expect(limitHeaders(left, 'x-gateway-', now)).toEqual({
      'ratelimit-policy':
        '"api-key-requests-60";q=60;w=60, "workspace-tokens-60";q=9000;qu="tokens";w=60',
      ratelimit: '"api-key-requests-60";r=12;t=40, "workspace-tokens-60";r=0;t=40',
    });
  });

  it.each([
    [4_250_000, 'cost=4.25'],
    [1, 'cost=0.000001'],
    [0, 'cost=0'],
    [100_000_000, 'cost=100'],
    [9_007_199_254_740_991, 'cost=9007199254.740991'],
  ])('formats %d micro-dollars as %s', (leftUnits, text) => {
    const left = [{ limit: { ...budget, type: 'cost' as const }, leftUnits }];
    expect(limitHeaders(left, 'x-other-', now)).toEqual({ 'x-other-usage-remaining': text });
  });

  it('sends the budget with the least left of each kind, and no value of a group', () => {
    const policy: Limit = {
      ...budget,
      subjectKind: 'policy',
      valueKey: 'metadata._user:bob\r\nx: y',
    };
    const left = [
      { limit: { ...budget, type: 'tokens' as const }, leftUnits: 70 },
      { limit: { ...policy, type: 'tokens' as const }, leftUnits: 50 },
      { limit: { ...policy, type: 'requests' as const }, leftUnits: 3 },
      { limit: { ...policy, isRate: true, endsAt: limit.endsAt }, leftUnits: 2 },
    ];
    expect(limitHeaders(left, 'x-gateway-', now)).toEqual({
      'x-gateway-usage-remaining': 'tokens=50, requests=3',
      'ratelimit-policy': '"policy-requests-60";q=60;w=60',
      ratelimit: '"policy-requests-60";r=2;t=40',
    });
  });
});
