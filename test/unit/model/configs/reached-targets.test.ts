/** Tests which targets of a config requests for a model can reach. */
import { describe, expect, it } from 'vitest';
import { buildConfigTree } from '../../../../src/model/configs/config-tree.ts';
import {
  modelsInConditions,
  targetsForModel,
} from '../../../../src/model/configs/reached-targets.ts';

const targets = [
  { name: 'a', provider: 'openai' },
  { name: 'b', provider: 'anthropic' },
  { name: 'c', provider: 'groq' },
];

function reached(strategy: object, model: string, metadata = {}): (string | null)[] {
  const root = buildConfigTree({ strategy, targets } as never);
  return [...targetsForModel(root, model, metadata)].map(({ settings }) => settings.provider);
}

/** Conditions, each with the name of its target. */
function conditional(...conditions: readonly (readonly [query: object, target: string])[]) {
  const next = 'then';
  const listed = conditions.map(([query, target]) => ({ query, [next]: target }));
  return { mode: 'conditional', conditions: listed, default: 'c' };
}

describe('the targets for a model', () => {
  it.each([
    ['single', ['openai']],
    ['fallback', ['openai', 'anthropic', 'groq']],
    ['loadbalance', ['openai', 'anthropic', 'groq']],
  ])('includes, with the mode %s, %j', (mode, expected) => {
    expect(reached({ mode }, 'm')).toEqual(expected);
  });

  it('excludes those of weight 0', () => {
    const weighted = targets.map((target, at) => ({ ...target, weight: at }));
    const root = buildConfigTree({ strategy: { mode: 'loadbalance' }, targets: weighted } as never);
    expect([...targetsForModel(root, 'm', {})].map(({ path }) => path)).toEqual([
      'config.targets[1]',
      'config.targets[2]',
    ]);
  });

  it('follows the first condition that matches, else the default', () => {
    const strategy = conditional(
      [{ 'params.model': 'x' }, 'a'],
      [{ $or: [{ 'metadata.team': 'red' }] }, 'b'],
    );
    expect(reached(strategy, 'x')).toEqual(['openai']);
    expect(reached(strategy, 'y', { team: 'red' })).toEqual(['anthropic']);
    expect(reached(strategy, 'y')).toEqual(['groq']);
  });

  it('includes both sides of a condition on anything else in the body, and of one on the path', () => {
    const onStream = conditional([{ $and: [{ 'params.stream': true }] }, 'a']);
    expect(reached(onStream, 'x')).toEqual(['openai', 'groq']);
    const onPath = conditional([{ 'url.pathname': '/v1/messages' }, 'b']);
    expect(reached(onPath, 'x').toSorted()).toEqual(['anthropic', 'groq']);
  });
});

it('finds the models that conditions name at any depth', () => {
  const strategy = conditional(
    [{ $or: [{ 'params.model': { $in: ['x', 'y'] } }, { 'params.model': 'z' }] }, 'a'],
    [{ 'params.model': { $eq: 'x' } }, 'b'],
    [{ 'params.user': 'u', 'params.model': { $regex: '^w' } }, 'b'],
  );
  const root = buildConfigTree({ strategy, targets } as never);
  expect(modelsInConditions(root)).toEqual(['x', 'y', 'z']);
});
