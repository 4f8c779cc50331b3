/**
 * Checks that a failing target is paused, and that one request at a time tests whether it has
 * recovered.
 */
import { beforeEach, expect, it } from 'vitest';
import { Breakers } from '../../../src/gateway/calls/breaker.ts';
import {
  buildConfigTree,
  type ConfigLeaf,
  type ConfigNode,
} from '../../../src/model/configs/config-tree.ts';

let nowMs = 0;
let breakers: Breakers;

function leafOf(rule: object): ConfigLeaf {
  const root: ConfigNode = buildConfigTree({ provider: 'openai', cb_config: rule });
  if (root.kind !== 'leaf') throw new Error('no leaf');
  return root;
}

const leaf = leafOf({ failure_threshold: 2, cooldown_interval: 30_000 });
const isOpen = () => breakers.isOpen('m', leaf);
const note = (...statuses: (number | null)[]) => {
  for (const status of statuses) breakers.note('m', leaf, status);
};

beforeEach(() => {
  nowMs = 1_000;
  breakers = new Breakers(() => nowMs);
});

it('opens for the pause after the allowed number of consecutive failures, in one config only', () => {
  note(503, 200, 503);
  expect(isOpen()).toBe(false);
  note(null);
  expect(isOpen()).toBe(true);
  expect(breakers.isOpen('other', leaf)).toBe(false);
  nowMs += 29_999;
  expect(isOpen()).toBe(true);
});

it('tries the target with one of a hundred requests after the pause; the others wait for the result', () => {
  note(503, 503);
  nowMs += 30_000;
  const tries = Array.from({ length: 100 }, () => !isOpen() && breakers.begin('m', leaf));
  expect(tries.filter(Boolean)).toHaveLength(1);
  expect(isOpen()).toBe(true);
  note(200);
  expect(isOpen()).toBe(false);
  expect(breakers.begin('m', leaf)).toBe(false);
  note(503);
  expect(isOpen()).toBe(false);
});

it('opens for another pause when the trial fails, however many failures are allowed', () => {
  note(503, 503);
  nowMs += 30_000;
  expect(breakers.begin('m', leaf)).toBe(true);
  nowMs += 10_000;
  note(503);
  nowMs += 29_999;
  expect(isOpen()).toBe(true);
  nowMs += 1;
  expect(isOpen()).toBe(false);
});

it('passes the trial on when a request learns nothing or never ends', () => {
  note(503, 503);
  nowMs += 30_000;
  expect(breakers.begin('m', leaf)).toBe(true);
  breakers.giveUp('m', leaf);
  expect(breakers.begin('m', leaf)).toBe(true);
  expect(isOpen()).toBe(true);
  nowMs += 30_000;
  expect(isOpen()).toBe(false);
  expect(breakers.begin('m', leaf)).toBe(true);
});

it('ignores responses to calls from before the pause', () => {
  note(503, 503, 503, 200, 503);
  nowMs += 29_999;
  expect(isOpen()).toBe(true);
  nowMs += 1;
  expect(isOpen()).toBe(false);
});
