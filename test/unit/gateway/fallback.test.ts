/** Checks that concurrent requests share what they learn about a failing target. */
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { beforeEach, expect, it } from 'vitest';
import { Breakers } from '../../../src/gateway/calls/breaker.ts';
import type { TargetOutcome } from '../../../src/gateway/calls/outcome.ts';
import { walkConfig } from '../../../src/gateway/calls/walk-config.ts';
import { Caller } from '../../../src/gateway/transfer/caller.ts';
import {
  buildConfigTree,
  type ConfigLeaf,
  type ConfigNode,
} from '../../../src/model/configs/config-tree.ts';

let nowMs = 0;
let breakers: Breakers;
/** Paths of the called targets, in order. */
let called: string[];
/** The status that each target returns. */
let statuses: Record<string, number>;

/** A target that is paused after one failure. */
const watched = (provider: string) => ({
  provider,
  cb_config: { failure_threshold: 1, cooldown_interval: 30_000 },
});
const falling = (...targets: readonly object[]) =>
  buildConfigTree({ strategy: { mode: 'fallback' }, targets });

/** Returns the statuses of so many concurrent requests. */
async function ask(root: ConfigNode, callers: number): Promise<number[]> {
  const requested = Array.from({ length: callers }, async () => {
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    const { status } = await walkConfig(root, {
      mark: 'm',
      now: nowMs,
      breakers,
      caller: new Caller(response),
      chance: () => 0,
      subject: { metadata: {}, params: {}, url: { pathname: '/v1/chat/completions' } },
      call,
      selectionTerms: () => {
        throw new Error('a fallback by status needs no facts');
      },
      readError: async (outcome) => ({ outcome, isTooLong: false }),
    });
    return status;
  });
  return Promise.all(requested);
}

async function call({ settings }: ConfigLeaf): Promise<TargetOutcome> {
  const name = settings.provider!;
  called.push(name);
  await new Promise((resolve) => setImmediate(resolve));
  return {
    kind: 'live',
    target: { call: {} },
    cacheStatus: 'DISABLED',
    status: statuses[name]!,
    retries: 0,
    call: { pipe: () => undefined, cut: () => undefined },
    stopClock: () => undefined,
  } as unknown as TargetOutcome;
}

const callsOf = (name: string) => called.filter((one) => one === name).length;

beforeEach(() => {
  nowMs = 1_000;
  breakers = new Breakers(() => nowMs);
  called = [];
});

it('tries a target after its pause with one of a hundred requests, and sends the others to the next target', async () => {
  const root = falling({ provider: 'a' }, watched('b'), { provider: 'c' });
  statuses = { a: 500, b: 529, c: 200 };
  expect(await ask(root, 1)).toEqual([200]);
  nowMs += 30_000;
  called = [];
  expect(new Set(await ask(root, 100))).toEqual(new Set([200]));
  expect([callsOf('a'), callsOf('b'), callsOf('c')]).toEqual([100, 1, 100]);
});

it('returns the earlier failure to the others when the paused target is the last', async () => {
  const root = falling({ provider: 'a' }, watched('b'));
  statuses = { a: 500, b: 503 };
  expect(await ask(root, 1)).toEqual([503]);
  nowMs += 30_000;
  called = [];
  const answers = await ask(root, 100);
  expect(answers.filter((status) => status === 503)).toHaveLength(1);
  expect(answers.filter((status) => status === 500)).toHaveLength(99);
  expect(callsOf('b')).toBe(1);
});

it('calls all targets when all of them are paused', async () => {
  const root = falling(watched('a'), watched('b'));
  statuses = { a: 500, b: 500 };
  expect(await ask(root, 1)).toEqual([500]);
  called = [];
  expect(await ask(root, 1)).toEqual([500]);
  expect(called).toEqual(['a', 'b']);
});
