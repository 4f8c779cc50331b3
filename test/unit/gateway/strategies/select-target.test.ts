/** Checks which target each strategy selects: weights of 0, ties, unknown facts, and targets that all fail. */
import { beforeEach, describe, expect, it } from 'vitest';
import {
  cheapestTarget,
  fastestTarget,
  fittingTargets,
  healthiestFirst,
  healthyTargets,
  type SelectionTerms,
  testedTarget,
} from '../../../../src/gateway/strategies/select-target.ts';
import { TargetStatistics } from '../../../../src/gateway/strategies/target-statistics.ts';
import { buildConfigTree, type ConfigNode } from '../../../../src/model/configs/config-tree.ts';

let statistics: TargetStatistics;
let costs: Record<string, number | null>;
let windows: Record<string, number | null>;
let nowMs = 0;

const terms = (): SelectionTerms => ({
  statistics,
  mark: 'm',
  form: 'whole',
  facts: {
    costOf: async ({ settings }) => costs[settings.provider!] ?? null,
    windowOf: async ({ settings }) => windows[settings.provider!] ?? null,
    inputTokens: () => 1_000,
  },
});

/** Targets by name, each with its weight, in a load balance. */
function targetsOf(weights: Record<string, number>): readonly ConfigNode[] {
  const targets = Object.entries(weights).map(([provider, weight]) => ({ provider, weight }));
  const root = buildConfigTree({ strategy: { mode: 'loadbalance' }, targets });
  return root.kind === 'branch' ? root.targets : [];
}

const namesOf = (targets: readonly ConfigNode[]) =>
  targets.map((target) => (target.kind === 'leaf' ? target.settings.provider : target.path));
const keyOf = (target: ConfigNode) => `m ${target.path}`;

function measure(targets: readonly ConfigNode[], latencies: readonly number[]): void {
  for (const [at, target] of targets.entries()) {
    statistics.takeProbe(keyOf(target), 'whole');
    statistics.note(keyOf(target), 'whole', latencies[at]!);
  }
}

function failAll(targets: readonly ConfigNode[]): void {
  for (const target of targets) {
    for (let n = 0; n < 4; n += 1) statistics.note(keyOf(target), 'whole', null);
  }
}

beforeEach(() => {
  nowMs = 1_000;
  statistics = new TargetStatistics(() => nowMs);
  [costs, windows] = [{}, {}];
});

describe('the fastest target', () => {
  it('is called once each time its latency is unknown, then the fastest is selected', () => {
    const targets = targetsOf({ a: 1, b: 1 });
    const first = fastestTarget(targets, terms(), 0);
    const second = fastestTarget(targets, terms(), 0);
    expect([first.selection, second.selection]).toEqual(['probe', 'probe']);
    expect(namesOf([first.target, second.target])).toEqual(['a', 'b']);
    measure(targets, [200, 100]);
    for (const chance of [0, 0.5, 0.99]) {
      const { target, selection } = fastestTarget(targets, terms(), chance);
      expect([namesOf([target]), selection]).toEqual([['b'], 'latency']);
    }
    nowMs += 10_000;
    expect(fastestTarget(targets, terms(), 0).selection).toBe('probe');
  });

  it('shares by weight with those that are about as fast', () => {
    const targets = targetsOf({ a: 1, b: 3, c: 9 });
    measure(targets, [110, 100, 500]);
    const selected = [0, 0.24, 0.26, 0.9].map(
      (chance) => fastestTarget(targets, terms(), chance).target,
    );
    expect(namesOf(selected)).toEqual(['a', 'a', 'b', 'b']);
  });

  it('has a weight above 0, unless all weights are 0', () => {
    const targets = targetsOf({ a: 0, b: 1 });
    measure(targets, [1, 100]);
    expect(namesOf([fastestTarget(targets, terms(), 0).target])).toEqual(['b']);
    const without = targetsOf({ a: 0, b: 0 });
    expect(namesOf([fastestTarget(without, terms(), 0).target])).toEqual(['a']);
  });
});

describe('the cheapest target', () => {
  const cheapest = async (targets: readonly ConfigNode[], chance = 0) =>
    namesOf([(await cheapestTarget(targets, terms(), chance)).target])[0];

  it('has the least bound, and shares by weight with those of equal cost', async () => {
    costs = { a: 5, b: 2, c: 2 };
    const targets = targetsOf({ a: 9, b: 1, c: 1 });
    expect([await cheapest(targets, 0), await cheapest(targets, 0.9)]).toEqual(['b', 'c']);
  });

  it('has a price, unless no price is known', async () => {
    costs = { b: 9_000 };
    const targets = targetsOf({ a: 1, b: 1 });
    expect(await cheapest(targets)).toBe('b');
    costs = {};
    expect([await cheapest(targets, 0), await cheapest(targets, 0.9)]).toEqual(['a', 'b']);
  });

  it('has a weight above 0, unless all weights are 0', async () => {
    costs = { a: 1, b: 2 };
    expect(await cheapest(targetsOf({ a: 0, b: 1 }))).toBe('b');
    expect(await cheapest(targetsOf({ a: 0, b: 0 }))).toBe('a');
  });

  it('may be a branch, which costs as much as its cheapest target', async () => {
    costs = { a: 3, b: 9, c: 1 };
    const inner = {
      strategy: { mode: 'fallback' },
      targets: [{ provider: 'b' }, { provider: 'c' }],
    };
    const targets = [{ provider: 'a' }, inner];
    const root = buildConfigTree({ strategy: { mode: 'loadbalance' }, targets });
    if (root.kind !== 'branch') throw new Error('no branch');
    expect(await cheapest(root.targets)).toBe('config.targets[1]');
  });
});

describe('an unhealthy target', () => {
  it('is left out of a load balance and tested once; all are used when none is healthy', () => {
    const targets = targetsOf({ a: 1, b: 1 });
    failAll(targets.slice(0, 1));
    expect(namesOf(healthyTargets(targets, terms()))).toEqual(['b']);
    expect(testedTarget(targets, terms())).toBe(targets[0]);
    expect(testedTarget(targets, terms())).toBeNull();
    failAll(targets);
    expect(healthyTargets(targets, terms())).toBe(targets);
  });

  it('is tried last in a fallback, except when it is tested', () => {
    const targets = targetsOf({ a: 1, b: 1, c: 1 });
    failAll(targets.slice(0, 1));
    expect(namesOf(healthiestFirst(targets, terms()))).toEqual(['a', 'b', 'c']);
    expect(namesOf(healthiestFirst(targets, terms()))).toEqual(['b', 'c', 'a']);
    failAll(targets);
    for (const target of targets) statistics.takeTest(keyOf(target));
    expect(namesOf(healthiestFirst(targets, terms()))).toEqual(['a', 'b', 'c']);
  });
});

describe('a context window', () => {
  it('excludes targets that are too small, unless all are, and keeps those of unknown size', async () => {
    const targets = targetsOf({ a: 1, b: 1, c: 1 });
    windows = { a: 999, b: 1_000 };
    expect(namesOf(await fittingTargets(targets, terms()))).toEqual(['b', 'c']);
    windows = { a: 1, b: 2, c: 3 };
    expect(await fittingTargets(targets, terms())).toBe(targets);
  });
});
