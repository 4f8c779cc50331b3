/** Tests that the model lists of all providers are read, and written in both forms. */
import { describe, expect, it } from 'vitest';
import {
  anthropicModel,
  anthropicModelPage,
  geminiModel,
  geminiModelPage,
  openAiModel,
  parseModelList,
  parseModelPage,
} from '../../../../src/model/providers/model-list.ts';

const names = (body: unknown) => parseModelList(body)?.map(({ name }) => name) ?? null;

describe('a model list', () => {
  it.each([
    ['OpenAI', { object: 'list', data: [{ id: 'm' }, { id: 7 }, null] }],
    ['Together', [{ id: 'm', object: 'model' }]],
    ['Gemini', { models: [{ name: 'models/m', displayName: 'M' }] }],
    ['Ollama', { models: [{ name: 'm', model: 'm' }] }],
    ['Bedrock', { modelSummaries: [{ modelId: 'm' }] }],
  ])('is read in the form of %s', (_, body) => {
    expect(names(body)).toEqual(['m']);
  });

  it.each([[{}], [null], ['m'], [{ data: 'm' }], [{ data: [{ name: 1 }] }]])(
    'is not read from %j',
    (body) => {
      expect(names(body)).toBeNull();
    },
  );

  it('may be empty', () => {
    expect(names({ data: [] })).toEqual([]);
  });
});

describe('a model', () => {
  const from = (members: object) => ({
    id: '@s/m',
    name: 'm',
    service: 's',
    members: { ...members },
  });

  it('keeps members of the form that it is written in, except its id', () => {
    const listed = from({ object: 'model', id: 'm', created: 5, owned_by: 'o', context: 1 });
    expect(openAiModel(listed)).toEqual({
      id: '@s/m',
      object: 'model',
      created: 5,
      owned_by: 'o',
      context: 1,
    });
    const claude = from({
      type: 'model',
      display_name: 'M',
      created_at: '1970-01-01T00:00:05Z',
      max_tokens: 3,
    });
    expect(anthropicModel(claude)).toMatchObject({ id: '@s/m', display_name: 'M', max_tokens: 3 });
    expect(openAiModel(claude)).toEqual({ id: '@s/m', object: 'model', created: 5, owned_by: 's' });
  });

  it.each([[{}], [{ created: 1e300 }], [{ created_at: 'soon' }]])(
    'has the first date where %j has none',
    (members) => {
      expect(anthropicModel(from(members))).toMatchObject({
        created_at: '1970-01-01T00:00:00.000Z',
        display_name: 'm',
      });
    },
  );
});

describe('a page', () => {
  const models = ['a', 'b', 'c'].map((id) => ({ id, name: id, service: 's', members: {} }));
  const page = (query: string) => {
    const parsed = parseModelPage(new URLSearchParams(query));
    if ('fault' in parsed) return parsed.param;
    const body = anthropicModelPage(models, parsed) as {
      data: { id: string }[];
      has_more: boolean;
    } | null;
    return body && [body.data.map(({ id }) => id).join(''), body.has_more];
  };

  it.each([
    ['', ['abc', false]],
    ['limit=2', ['ab', true]],
    ['limit=1&after_id=b', ['c', false]],
    ['limit=1&before_id=c', ['b', true]],
    ['before_id=b', ['a', false]],
    ['after_id=c', ['', false]],
    ['after_id=x', null],
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['after_id=a&before_id=c', 'before_id'],
  ])('is, for the query "%s", %j', (query, expected) => {
    expect(page(query)).toEqual(expected);
  });

  it.each([
    ['', 'abc', undefined],
    ['pageSize=2', 'ab', 'b'],
    ['pageSize=2&pageToken=b', 'c', undefined],
    ['pageSize=x', 'abc', undefined],
  ])('has Gemini\'s form for the query "%s"', (query, ids, token) => {
    const body = geminiModelPage(models, new URLSearchParams(query));
    expect(body).toEqual({
      models: [...ids].map((id) => expect.objectContaining({ name: `models/${id}` })),
      ...(token === undefined ? {} : { nextPageToken: token }),
    });
  });

  it("does not exist in Gemini's form behind an unknown token", () => {
    expect(geminiModelPage(models, new URLSearchParams('pageToken=x'))).toBeNull();
    expect(geminiModel(models[0]!)).toMatchObject({ displayName: 'a' });
  });
});
