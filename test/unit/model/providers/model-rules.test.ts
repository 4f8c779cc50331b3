/** Verifies that names of models are compared as a lenient provider would read them. */
import { describe, expect, it } from 'vitest';
import { isSameModel, modelsNamedIn } from '../../../../src/model/providers/model-rules.ts';
import { nestedIn, nestings } from '../../../support/network/nested-values.ts';

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
  expect(modelsNamedIn(params).map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  expect(modelsNamedIn(params).filter(({ isOpaque }) => isOpaque)).toMatchObject([{ name: 'f' }]);
});

it.each(nestings)('finds a model that is nested %i levels deep', (levels) => {
  expect(modelsNamedIn({ tools: nestedIn({ MODEL: 'deep' }, levels) })).toMatchObject([
    { name: 'deep' },
  ]);
  expect(modelsNamedIn({ models: nestedIn(['deep'], levels, 'lists') })).toMatchObject([
    { name: 'deep' },
  ]);
});
