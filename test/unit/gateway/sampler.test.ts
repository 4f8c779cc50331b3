/**
 * Checks that sampling follows the OpenTelemetry samplers and selects the same traces on every
 * replica of one ratio.
 */
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { isSampled } from '../../../src/gateway/logs/sampler.ts';
import type { TraceParent } from '../../../src/gateway/logs/trace-parent.ts';

const id = (rest: string) => `${'ab'.repeat(8)}${rest}`;
const parentOf = (flags: number): TraceParent => ({
  traceId: id('ff'.repeat(8)),
  spanId: 'cd'.repeat(8),
  flags,
});
const [yes, no, chance] = [parentOf(1), parentOf(0), parentOf(2)];

it('follows the parent’s decision before the ratio, only where the parent is trusted', () => {
  for (const ratio of [0, 0.5, 1]) {
    const reported = [yes, no, chance].map((parent) =>
      isSampled({ heedsParent: true, ratio }, parent, parent.traceId),
    );
    expect(reported).toEqual([true, false, false]);
    const own = [yes, no].map((parent) =>
      isSampled({ heedsParent: false, ratio }, parent, parent.traceId),
    );
    expect(own).toEqual([ratio === 1, ratio === 1]);
  }
});

it.each([
  ['0000000000000000', 0.000001, true],
  ['0000000000000000', 0, false],
  ['7fffffffffffffff', 0.5, true],
  ['8000000000000000', 0.5, false],
  ['1999999999999999', 0.1, true],
  ['199999999999a000', 0.1, false],
  ['ffffffffffffffff', 1, true],
])('treats a trace that ends in %s at a ratio of %d as recorded: %s', (rest, ratio, is) => {
  expect(isSampled({ heedsParent: true, ratio }, null, id(rest))).toBe(is);
});

it('records about the configured share of ten thousand traces', () => {
  const ids = Array.from({ length: 10_000 }, () => randomBytes(16).toString('hex'));
  const terms = { heedsParent: false, ratio: 0.25 };
  const share = ids.filter((one) => isSampled(terms, null, one)).length / ids.length;
  // Ten standard deviations to either side.
  expect(share).toBeGreaterThan(0.2);
  expect(share).toBeLessThan(0.3);
});
