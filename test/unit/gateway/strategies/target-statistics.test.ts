/** Checks that statistics of targets decay, and that every target is measured again. */
import { beforeEach, expect, it } from 'vitest';
import { TargetStatistics } from '../../../../src/gateway/strategies/target-statistics.ts';

let nowMs = 0;
let statistics: TargetStatistics;
const fail = (times: number) => {
  for (let n = 0; n < times; n += 1) statistics.note('a', 'whole', null);
};

beforeEach(() => {
  nowMs = 1_000;
  statistics = new TargetStatistics(() => nowMs);
});

it('averages the latencies of streams and whole responses apart', () => {
  statistics.note('a', 'whole', 100);
  statistics.note('a', 'whole', 200);
  statistics.note('a', 'stream', 10);
  expect(statistics.latencyOf('a', 'whole')).toBe(120);
  expect(statistics.latencyOf('a', 'stream')).toBe(10);
  expect(statistics.latencyOf('b', 'whole')).toBeNull();
});

it('leaves the latency as it is when a call fails, however fast', () => {
  statistics.note('a', 'whole', 100);
  fail(3);
  expect(statistics.latencyOf('a', 'whole')).toBe(100);
});

it('treats a target as unhealthy when most of at least three calls failed, until they are forgotten', () => {
  fail(2);
  expect(statistics.isHealthy('a')).toBe(true);
  fail(1);
  expect(statistics.isHealthy('a')).toBe(false);
  for (let n = 0; n < 3; n += 1) statistics.note('a', 'whole', 1);
  expect(statistics.isHealthy('a')).toBe(true);
  fail(4);
  expect(statistics.isHealthy('a')).toBe(false);
  nowMs += 90_000;
  expect(statistics.isHealthy('a')).toBe(true);
});

it('lets one of a hundred calls test an unhealthy target every five seconds', () => {
  const tests = () => Array.from({ length: 100 }, () => statistics.takeTest('a')).filter(Boolean);
  expect(tests()).toHaveLength(1);
  nowMs += 4_999;
  expect(tests()).toHaveLength(0);
  nowMs += 1;
  expect(tests()).toHaveLength(1);
});

it('lets one of a hundred calls measure a target whose latency is unknown or ten seconds old', () => {
  const probes = () =>
    Array.from({ length: 100 }, () => statistics.takeProbe('a', 'whole')).filter(Boolean);
  expect(probes()).toHaveLength(1);
  statistics.note('a', 'whole', 5);
  nowMs += 9_999;
  expect(probes()).toHaveLength(0);
  nowMs += 1;
  expect(probes()).toHaveLength(1);
});

it('forgets the oldest targets beyond ten thousand', () => {
  statistics.note('first', 'whole', 5);
  for (let n = 0; n < 10_000; n += 1) statistics.note(`other ${n}`, 'whole', 5);
  expect(statistics.latencyOf('first', 'whole')).toBeNull();
  expect(statistics.latencyOf('other 1', 'whole')).toBe(5);
});

it('knows a percentile of the newest hundred latencies, from ten on', () => {
  for (let ms = 1; ms < 10; ms += 1) statistics.note('a', 'whole', ms);
  expect(statistics.percentileOf('a', 'whole', 95)).toBeNull();
  for (let ms = 10; ms <= 200; ms += 1) statistics.note('a', 'whole', ms);
  expect(statistics.percentileOf('a', 'whole', 50)).toBe(150);
  expect(statistics.percentileOf('a', 'whole', 99)).toBe(199);
  expect(statistics.percentileOf('a', 'stream', 50)).toBeNull();
});

it('permits second requests for a share of the requests, of which ten may be saved up', () => {
  const taken = () => Array.from({ length: 50 }, () => statistics.takeHedge('a')).filter(Boolean);
  for (let n = 0; n < 19; n += 1) statistics.noteHedgeable('a', 5);
  expect(taken()).toHaveLength(0);
  statistics.noteHedgeable('a', 5);
  expect(taken()).toHaveLength(1);
  for (let n = 0; n < 1_000; n += 1) statistics.noteHedgeable('a', 5);
  expect(taken()).toHaveLength(10);
});
