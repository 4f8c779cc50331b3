/** Checks that the tally histogram exports the same text as the Prometheus client library. */
import { Histogram, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { TallyHistogram } from '../../../src/app/request-metrics/tally-histogram.ts';

const about = { name: 'answers_seconds', help: 'Time of answers' };
const labelNames = ['endpoint', 'status'];
const buckets = [0.005, 1, 300];

describe('a histogram of tallies', () => {
  it('exports what the library’s histogram exports, at, between and beyond its bounds', async () => {
    const [ours, theirs] = [new Registry(), new Registry()];
    const actual = new TallyHistogram({ ...about, labelNames, buckets, register: ours });
    const expected = new Histogram({ ...about, labelNames, buckets, registers: [theirs] });
    expect(await ours.metrics()).toBe(await theirs.metrics());
    for (const [seconds, endpoint, status] of [
      [0.005, 'chat_completions', '200'],
      [0.2, 'chat_completions', '200'],
      [301, 'chat_completions', '429'],
      [1, 'other', '200'],
      [0, 'other', '200'],
      [300, 'other', '200'],
    ] as const) {
      actual.note(seconds, endpoint, status);
      expected.observe({ endpoint, status }, seconds);
    }
    expect(await ours.metrics()).toBe(await theirs.metrics());
  });
});
