/** Verifies that requests to Converse have the members that the vendor of the model accepts, and no others. */
import { describe, expect, it } from 'vitest';
import { translationFor } from '../../../src/upstream/formats/all-translations.ts';

const chat = translationFor('/chat/completions', 'converse', false)!;
const messages = translationFor('/messages', 'converse', false)!;

function sent(translation: typeof chat, body: object) {
  const dropped: string[] = [];
  const terms = { service: 'bedrock', unsupported: null, dropped };
  return {
    request: translation.request(body as Readonly<Record<string, unknown>>, terms),
    dropped,
  };
}

const [nova, secondNova, llama, profile] = [
  'us.amazon.nova-pro-v1:0',
  'global.amazon.nova-2-lite-v1:0',
  'us.meta.llama3-3-70b-instruct-v1:0',
  'arn:aws:bedrock:us-east-1:1:application-inference-profile/abc',
];
const hello = { role: 'user', content: 'Hello' };
const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };
const marked = { cache_control: { type: 'ephemeral' } };

describe('a request with calls of earlier turns', () => {
  const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
  const history = [
    hello,
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c1', content: 'done' },
  ];
  const texts = [
    { role: 'user', content: [{ text: 'Hello' }] },
    { role: 'assistant', content: [{ text: 'Call c1 of f: {"a":1}' }] },
    { role: 'user', content: [{ text: 'Result of c1:' }, { text: 'done' }] },
  ];

  it.each([
    ['without tools', {}],
    ['with tools that must not be called', { tools: [tool], tool_choice: 'none' }],
  ])(
    'has them as texts %s, because Bedrock refuses blocks of calls without tools',
    (_name, more) => {
      const { request } = sent(chat, { model: nova, messages: history, ...more });
      expect(request.messages).toEqual(texts);
      expect(request).not.toHaveProperty('toolConfig');
    },
  );

  it('has them as calls beside tools', () => {
    const { request } = sent(chat, { model: nova, messages: history, tools: [tool] });
    expect(JSON.stringify(request.messages)).toContain('"toolUse"');
  });
});

describe('a request with marks of the cache', () => {
  const body = {
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello', ...marked }] }],
    tools: [{ ...tool, ...marked }],
  };
  const point = { cachePoint: { type: 'default' } };

  it.each([
    [profile, [{ text: 'Hello' }, point], 2, []],
    [nova, [{ text: 'Hello' }, point], 1, ['tools[].cache_control']],
    [
      llama,
      [{ text: 'Hello' }],
      1,
      ['tools[].cache_control', 'messages[].content[].cache_control'],
    ],
  ])('has them for %s where its vendor accepts them', (model, content, tools, names) => {
    const { request, dropped } = sent(chat, { model, ...body });
    expect(request.messages).toEqual([{ role: 'user', content }]);
    expect((request.toolConfig as { tools: unknown[] }).tools).toHaveLength(tools);
    expect(dropped).toEqual(names);
  });

  it('has one behind the result of a tool whose part is marked', () => {
    const result = { type: 'text', text: 'done', ...marked };
    const { request } = sent(messages, {
      model: nova,
      max_tokens: 9,
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
      messages: [
        hello,
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: {} }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'c1', content: [result] }],
        },
      ],
    });
    expect((request.messages as { content: unknown }[])[2]!.content).toEqual([
      { toolResult: { toolUseId: 'c1', content: [{ text: 'done' }] } },
      point,
    ]);
  });
});

describe('a request with settings of a model', () => {
  it.each([
    [nova, {}, ['reasoning_effort']],
    [llama, {}, ['reasoning_effort']],
    [
      secondNova,
      {
        additionalModelRequestFields: {
          reasoningConfig: { type: 'enabled', maxReasoningEffort: 'medium' },
        },
      },
      [],
    ],
    [profile, { outputConfig: { effort: 'high' } }, []],
  ])('has the effort of %s in the form of its vendor', (model, members, names) => {
    const { request, dropped } = sent(chat, {
      model,
      messages: [hello],
      reasoning_effort: 'high',
    });
    const { model: _model, messages: _messages, ...rest } = request;
    expect(rest).toEqual(members);
    expect(dropped).toEqual(names);
  });

  it.each([
    [nova, { inferenceConfig: { topK: 5 } }],
    [profile, { top_k: 5 }],
  ])('has top_k of %s in the form of its vendor', (model, fields) => {
    const { request } = sent(chat, { model, messages: [hello], top_k: 5 });
    expect(request.additionalModelRequestFields).toEqual(fields);
  });
});
