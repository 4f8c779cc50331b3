/** Verifies schemas of answers and names of users in forms that the provider accepts. */
import { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema';
import { describe, expect, it } from 'vitest';
import { translationFor } from '../../../src/upstream/formats/all-translations.ts';

type Json = Readonly<Record<string, unknown>>;

function anthropicSchema(schema: Json): Json {
  const request = translationFor('/chat/completions', 'anthropic', false)!.request(
    {
      model: 'claude-sonnet-4-5',
      messages: [{ role: 'user', content: 'Hello' }],
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
    },
    { service: 'anthropic', unsupported: null, dropped: [] },
  );
  const { format } = request.output_config as { readonly format: { readonly schema: Json } };
  return format.schema;
}

const text = { type: 'string' };
const schemas: Readonly<Record<string, Json>> = {
  'an open object': { type: 'object', properties: { a: text } },
  'objects in lists and definitions': {
    type: 'object',
    properties: { list: { type: 'array', items: { type: 'object', properties: { a: text } } } },
    $defs: { Node: { type: 'object', properties: { next: { $ref: '#/$defs/Node' } } } },
    required: ['list'],
  },
  'bounds and formats': {
    type: 'object',
    properties: {
      n: { type: 'integer', minimum: 1, maximum: 9, description: 'A number' },
      at: { type: 'string', format: 'date-time' },
      code: { type: 'string', format: 'zip', pattern: '^\\d+$' },
      list: { type: 'array', items: text, minItems: 1, maxItems: 3 },
    },
  },
  'alternatives that exclude each other': {
    type: 'object',
    properties: { a: { oneOf: [text, { type: 'null' }] } },
    additionalProperties: true,
  },
};

describe('the schema of an answer', () => {
  it.each(Object.entries(schemas))(
    'leaves nothing for the SDK to change in a schema with %s',
    (_name, schema) => {
      const ours = anthropicSchema(schema);
      expect(transformJSONSchema(ours as never)).toEqual(ours);
      expect(Object.keys(transformJSONSchema(schema as never)).toSorted()).toEqual(
        Object.keys(ours).toSorted(),
      );
    },
  );

  it('tells the model bounds in the description', () => {
    const { properties } = anthropicSchema(schemas['bounds and formats']!);
    expect((properties as Record<string, unknown>).n).toEqual({
      type: 'integer',
      description: 'A number\n\n{minimum: 1, maximum: 9}',
    });
  });
});

describe('the user of a message', () => {
  it.each([
    ['u-1', 'u-1'],
    ['u'.repeat(64), 'u'.repeat(64)],
    ['u'.repeat(65), expect.stringMatching(/^[0-9a-f]{64}$/)],
  ])('becomes a name that OpenAI accepts: %s', (user_id, user) => {
    const request = translationFor('/messages', 'openai', false)!.request(
      { model: 'gpt-4o', max_tokens: 9, messages: [], metadata: { user_id } },
      { service: 'openai', unsupported: null, dropped: [] },
    );
    expect(request.user).toEqual(user);
  });
});
