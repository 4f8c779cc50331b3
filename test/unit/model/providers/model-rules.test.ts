/** Verifies that names of models are compared as a lenient provider would read them. */
import { describe, expect, it } from 'vitest';
import {
  findModels,
  isSameModel,
  type NamedModel,
  namedModel,
} from '../../../../src/model/providers/model-rules.ts';
import { runAtOnce } from '../../../../src/slices.ts';
import { nestedIn, nestings } from '../../../support/network/nested-values.ts';

const modelsNamedIn = (params: Readonly<Record<string, unknown>>): NamedModel[] =>
  runAtOnce(findModels(params, 100));

describe('a rule for a model', () => {
  it.each([
    ['gpt-4o', 'GPT-4O'],
    ['gpt-4o', ' gpt-4o '],
    ['gpt-4o', 'models/gpt-4o'],
    ['gpt-4o', 'openai/gpt-4o'],
    ['gpt-4o', 'openai/gpt-4o:free'],
    ['gpt-4o', 'gpt-4o-2024-08-06'],
    ['gpt-4o', 'ft:gpt-4o-2024-08-06:org::id'],
    ['openai/gpt-4o', 'gpt-4o'],
    ['gemini-2.5-pro', 'publishers/google/models/gemini-2.5-pro'],
    ['claude-3-7-sonnet-latest', 'claude-3-7-sonnet-20250219'],
    ['anthropic/claude-3.5-haiku', 'claude-3-5-haiku-20241022'],
    ['gpt-3.5-turbo', 'gpt-3.5-turbo-0125'],
    ['gpt-4o', 'openai:gpt-4o'],
    ['gpt-4o', 'openai.gpt-4o'],
    ['gpt-4o', 'gpt--4o'],
    ['gpt-4o', 'gpt-4o/.'],
    ['gpt-4o', 'x/../gpt-4o'],
    ['gpt-4o', 'openai/gpt-4o@preset/mine'],
    ['claude-3-5-haiku', 'us.anthropic.claude-3-5-haiku-20241022-v1:0'],
  ])('%s applies to %s', (rule, name) => {
    expect(isSameModel(rule, name)).toBe(true);
  });

  it.each([
    ['gpt-4o', 'gpt-4o-mini'],
    ['gpt-4o', 'gpt-4'],
    ['gpt-4o-2024-08-06', 'gpt-4o-2024-11-20'],
    ['openai/gpt-4o', 'azure/gpt-4o'],
    ['claude-3-5-haiku-20241022', 'claude-3-5-haiku-latest'],
  ])('%s does not apply to %s', (rule, name) => {
    expect(isSameModel(rule, name)).toBe(false);
  });
});

describe('a name', () => {
  it.each([
    '',
    ' ',
    '@preset/mine',
    'gpt-5@preset/mine',
    'openrouter/auto',
    'openrouter/fusion',
    'model-router',
    'arn:aws:bedrock:us-east-1:1:application-inference-profile/a',
    'projects/p/locations/l/endpoints/1',
    'gpt\u20114o',
    'gpt-4o\u200b',
    '\uff47pt-4o',
    'gpt-4o#x',
    'gpt-4o?x',
    'gpt%2d4o',
    'gpt-4o,gpt-5',
  ])('is not known to select one model: %j', (name) => {
    expect(namedModel(name)).toMatchObject({ isOpaque: true });
  });

  it.each([
    'gpt-4.1',
    'openai/gpt-4o:free',
    'm@latest',
    'llama 3',
    '~anthropic/claude',
    'ft:a:b::c',
  ])('selects the one model %j', (name) => {
    expect(namedModel(name)).toEqual({ name, isOpaque: false, isMention: false });
  });
});

it.each([
  'model',
  'MODEL',
  'model ',
  'model\u0000',
  'mo\u00addel',
  'modelId',
  'model_name',
  'fallbackModels',
  'fallback_models',
  'engine_id',
  'deployment_name',
])('finds a model in the member %j', (member) => {
  expect(modelsNamedIn({ [member]: 'a' })).toEqual([
    { name: 'a', isOpaque: false, isMention: false },
  ]);
});

it('finds models in the parameters of a tool that the provider runs', () => {
  const tools = [{ type: 'openrouter:fusion', parameters: { analysis_models: ['a'] } }];
  expect(modelsNamedIn({ tools })).toEqual([{ name: 'a', isOpaque: false, isMention: false }]);
});

it('does not know the model of a preset', () => {
  expect(modelsNamedIn({ preset: 'a' })).toEqual([{ name: 'a', isOpaque: true, isMention: false }]);
});

it('finds all names in a member of models, and in plugins names that may be those of models', () => {
  const nested = modelsNamedIn({ models: [{ a: { name: 'a' } }, [['b']]] });
  expect(nested.map(({ name, isMention }) => [name, isMention])).toEqual([
    ['a', false],
    ['b', false],
  ]);
  const mentioned = modelsNamedIn({ plugins: [{ id: 'fusion', analysis: ['a'] }] });
  expect(mentioned).toEqual([
    { name: 'fusion', isOpaque: true, isMention: true },
    { name: 'a', isOpaque: false, isMention: true },
  ]);
});

it('finds models at any depth, and none in messages and free objects', () => {
  const params = {
    model: 'a',
    models: ['b'],
    Fallbacks: ['c'],
    tools: [{ type: 'image_generation', model: 'd' }, { parameters: { model: 'no' } }],
    requests: [{ params: { MODEL: 'e' } }],
    agent_id: 'f',
    messages: [{ model: 'no' }],
    metadata: { model: 'no' },
  };
  const names = modelsNamedIn(params).map(({ name }) => name);
  expect(names.toSorted()).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  expect(modelsNamedIn(params).filter(({ isOpaque }) => isOpaque)).toMatchObject([{ name: 'f' }]);
});

it('is interrupted again and again, and ends at the most names', () => {
  const models = Array.from({ length: 100_000 }, (_, at) => `m${at}`);
  for (const params of [{ models }, { requests: models.map((model) => ({ model })) }]) {
    const work = findModels(params, 50_000);
    let slices = 0;
    let step = work.next();
    for (; step.done !== true; step = work.next()) slices += 1;
    expect(step.value).toHaveLength(50_000);
    expect(slices).toBeGreaterThan(100);
  }
});

it.each(nestings)('finds a model that is nested %i levels deep', (levels) => {
  expect(modelsNamedIn({ tools: nestedIn({ MODEL: 'deep' }, levels) })).toMatchObject([
    { name: 'deep' },
  ]);
  expect(modelsNamedIn({ models: nestedIn(['deep'], levels, 'lists') })).toMatchObject([
    { name: 'deep' },
  ]);
});
