/**
 * Checks that retries honour the delay that a provider requests in any form, and ignore invalid
 * values.
 */
import { expect, it } from 'vitest';
import { retryAfterMs } from '../../../src/gateway/calls/retry-after.ts';

const now = Date.UTC(2026, 10, 22, 12);

it.each([
  ['reads seconds', { 'retry-after': '3' }, 3_000],
  ['reads fractions of seconds', { 'retry-after': '0.0125' }, 13],
  ['prefers milliseconds to seconds', { 'retry-after-ms': '250', 'retry-after': '3' }, 250],
  ['reads the milliseconds of Azure', { 'x-ms-retry-after-ms': '250.4' }, 251],
  [
    'reads seconds next to invalid milliseconds',
    { 'retry-after-ms': '', 'retry-after': '3' },
    3_000,
  ],
  ['a date', { 'retry-after': 'Sun, 22 Nov 2026 12:00:30 GMT' }, 30_000],
  ['reads a date in the past as zero', { 'retry-after': 'Sun, 22 Nov 2026 11:00:00 GMT' }, 0],
])('%s', (_, headers, waitMs) => {
  expect(retryAfterMs(headers, now)).toBe(waitMs);
});

it('reads a date relative to the provider’s clock, however wrong it is', () => {
  const headers = {
    date: 'Wed, 01 Jan 2020 00:00:00 GMT',
    'retry-after': 'Wed, 01 Jan 2020 00:00:07 GMT',
  };
  expect(retryAfterMs(headers, now)).toBe(7_000);
  expect(retryAfterMs({ ...headers, date: 'yesterday 5' }, now)).toBe(0);
});

it.each([
  '',
  'soon',
  'in 5 minutes',
  '-3',
  '1e3',
  '0x10',
  'Infinity',
  '3 s',
  'abc 5',
  'Sun, 99 Nov 2026 12:00:30 GMT',
  'Sun Nov 22 12:00:30 2026',
  '2026-11-22T12:00:30Z',
])('ignores %j', (text) => {
  expect(retryAfterMs({ 'retry-after': text }, now)).toBeNull();
});

it('ignores an empty header and several headers at once', () => {
  expect(retryAfterMs({}, now)).toBeNull();
  expect(retryAfterMs({ 'retry-after': ['3', '4'] }, now)).toBeNull();
});
