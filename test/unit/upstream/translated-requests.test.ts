/**
 * Checks which parts of a request are translated between formats, and that no other part is dropped
 * silently.
 */
import { describe, expect, it } from 'vitest';
import { NotTranslatable } from '../../../src/upstream/documents/document-node.ts';
import { translationFor } from '../../../src/upstream/formats/all-translations.ts';
import { anthropicResponse } from '../../../src/upstream/messages/openai-response-to-anthropic.ts';

type Body = Readonly<Record<string, unknown>>;

const toAnthropic = translationFor('/chat/completions', 'anthropic')!;
const toOpenAi = translationFor('/messages', 'openai')!;
const user = { role: 'user', content: 'hi' };
const hi = { role: 'user', content: [{ type: 'text', text: 'hi' }] };
const schema = { type: 'object', properties: { city: { type: 'string' } } };
const picture = 'data:image/png;base64,AAAA';

function anthropicOf(more: Body): Body {
  return toAnthropic.request(
    { model: 'm', messages: [user], ...more },
    { service: 'anthropic', unsupported: null, dropped: [] },
  );
}

function openAiOf(more: Body, service = 'openai'): Body {
  return toOpenAi.request(
    { model: 'm', max_tokens: 9, messages: [user], ...more },
    { service, unsupported: null, dropped: [] },
  );
}

function refusedPath(translate: () => unknown): string {
  try {
    translate();
  } catch (thrown) {
    if (thrown instanceof NotTranslatable) return thrown.path;
    throw thrown;
  }
  throw new Error('it was carried');
}

const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
const tool = {
  type: 'function',
  function: { name: 'f', description: 'does', parameters: schema, strict: true },
};
const ownTool = { name: 'f', description: 'does', input_schema: schema, strict: true };

describe('a chat for Anthropic', () => {
  it.each<[string, Body, Body]>([
    ['a default output limit', {}, { max_tokens: 4096, messages: [hi] }],
    [
      'the newer of two output limits',
      { max_completion_tokens: 5, max_tokens: 9 },
      { max_tokens: 5 },
    ],
    [
      'system and developer messages before the others',
      {
        messages: [
          { role: 'system', content: 'a' },
          user,
          { role: 'developer', content: [{ type: 'text', text: 'b' }] },
        ],
      },
      {
        system: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
        messages: [hi],
      },
    ],
    [
      'pictures, documents and cache markers',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'see', cache_control: { type: 'ephemeral' } },
              { type: 'image_url', image_url: { url: picture, detail: 'low' } },
              { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
              {
                type: 'file',
                file: { file_data: 'data:application/pdf;base64,BBBB', filename: 'a.pdf' },
              },
            ],
          },
        ],
      },
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'see', cache_control: { type: 'ephemeral' } },
              {
                type: 'image',
                source: { type: 'base64', media_type: 'image/png', data: 'AAAA' },
              },
              { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } },
              {
                type: 'document',
                source: { type: 'base64', media_type: 'application/pdf', data: 'BBBB' },
                title: 'a.pdf',
              },
            ],
          },
        ],
      },
    ],
    [
      'calls and all of their results in the next turn',
      {
        messages: [
          user,
          { role: 'assistant', content: null, tool_calls: [call, { ...call, id: 'call_2' }] },
          { role: 'tool', tool_call_id: 'call_1', content: 'one' },
          { role: 'tool', tool_call_id: 'call_2', content: [{ type: 'text', text: 'two' }] },
          user,
        ],
      },
      {
        messages: [
          hi,
          {
            role: 'assistant',
            content: [
              { type: 'tool_use', id: 'call_1', name: 'f', input: { a: 1 } },
              { type: 'tool_use', id: 'call_2', name: 'f', input: { a: 1 } },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 'call_1', content: 'one' },
              {
                type: 'tool_result',
                tool_use_id: 'call_2',
                content: [{ type: 'text', text: 'two' }],
              },
              { type: 'text', text: 'hi' },
            ],
          },
        ],
      },
    ],
    [
      'a returned response without the fields next to its text',
      {
        messages: [
          user,
          {
            role: 'assistant',
            annotations: [],
            reasoning_content: 'hm',
            audio: null,
            content: [
              {
                type: 'text',
                text: 'I look',
                role: 'assistant',
                annotations: [],
                tool_calls: [call],
              },
            ],
            tool_calls: [call],
          },
          { role: 'tool', tool_call_id: 'call_1', name: 'f', content: 'one' },
        ],
      },
      {
        messages: [
          hi,
          {
            role: 'assistant',
            content: [
              { type: 'text', text: 'I look' },
              { type: 'tool_use', id: 'call_1', name: 'f', input: { a: 1 } },
            ],
          },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'one' }],
          },
        ],
      },
    ],
    [
      'tools and the tool choice',
      { tools: [tool], tool_choice: { type: 'function', function: { name: 'f' } } },
      { tools: [ownTool], tool_choice: { type: 'tool', name: 'f' } },
    ],
    [
      'one tool at a time',
      { tools: [tool], tool_choice: 'required', parallel_tool_calls: false },
      { tools: [ownTool], tool_choice: { type: 'any', disable_parallel_tool_use: true } },
    ],
    [
      'sampling parameters',
      { temperature: 0.5, top_p: 0.9, stop: 'END', stream: true, reasoning_effort: 'low' },
      {
        temperature: 0.5,
        top_p: 0.9,
        stop_sequences: ['END'],
        stream: true,
        output_config: { effort: 'low' },
      },
    ],
    [
      'the response format',
      { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } },
      {
        output_config: {
          format: { type: 'json_schema', schema: { ...schema, additionalProperties: false } },
        },
      },
    ],
    [
      'the user and the service tier',
      { user: 'u', service_tier: 'default' },
      { metadata: { user_id: 'u' }, service_tier: 'standard_only' },
    ],
    [
      'no default values',
      {
        n: 1,
        logprobs: false,
        frequency_penalty: 0,
        presence_penalty: null,
        logit_bias: {},
        store: false,
        modalities: ['text'],
        response_format: { type: 'text' },
        seed: null,
        prompt_cache_key: 'k',
        metadata: { a: 'b' },
        stream_options: { include_usage: true },
      },
      { max_tokens: 4096, messages: [hi] },
    ],
  ])('translates %s', (_, stated, carried) => {
    expect(anthropicOf(stated)).toEqual({
      model: 'm',
      max_tokens: 4096,
      messages: [hi],
      ...carried,
    });
  });

  it('keeps every digit of the numbers in arguments', () => {
    const called = { name: 'f', arguments: '{"id":12345678901234567890,"n":[9007199254740993]}' };
    const messages = [{ role: 'assistant', tool_calls: [{ ...call, function: called }] }];
    expect(JSON.stringify(anthropicOf({ messages }))).toContain(`"input":${called.arguments}`);
  });

  it.each<[string, Body]>([
    ['messages', { messages: 'hi' }],
    ['messages[0].role', { messages: [{ role: 'function', content: 'x' }] }],
    ['messages[0].name', { messages: [{ ...user, name: 'Ann' }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ type: 'x' }] }] }],
    [
      'messages[0].tool_calls[0].function.arguments',
      {
        messages: [
          {
            role: 'assistant',
            tool_calls: [{ ...call, function: { name: 'f', arguments: '{"a":' } }],
          },
        ],
      },
    ],
    ['temperature', { temperature: 1.5 }],
    ['n', { n: 2 }],
    ['seed', { seed: 1 }],
    ['logit_bias', { logit_bias: { 5: 1 } }],
    ['tools[0].type', { tools: [{ type: 'retrieval' }] }],
    ['tool_choice.type', { tools: [tool], tool_choice: { type: 'allowed_tools' } }],
    ['response_format.type', { response_format: { type: 'json_object' } }],
    ['stream_options.later', { stream_options: { later: 1 } }],
    ['something_new', { something_new: true }],
  ])('is rejected at %s', (path, stated) => {
    expect(refusedPath(() => anthropicOf(stated))).toBe(path);
  });
});

describe('a message for OpenAI', () => {
  it.each<[string, Body, Body]>([
    [
      'the system prompt',
      { system: [{ type: 'text', text: 'a' }] },
      {
        messages: [{ role: 'system', content: 'a' }, user],
      },
    ],
    [
      'pictures and documents',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'see', cache_control: { type: 'ephemeral' } },
              {
                type: 'image',
                source: { type: 'base64', media_type: 'image/png', data: 'AAAA' },
              },
              { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } },
              {
                type: 'document',
                source: { type: 'base64', media_type: 'application/pdf', data: 'BBBB' },
              },
            ],
          },
        ],
      },
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'see' },
              { type: 'image_url', image_url: { url: picture } },
              { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
              {
                type: 'file',
                file: {
                  filename: 'document.pdf',
                  file_data: 'data:application/pdf;base64,BBBB',
                },
              },
            ],
          },
        ],
      },
    ],
    [
      'calls and their results before other content of the turn',
      {
        messages: [
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'hm', signature: 's' },
              { type: 'text', text: 'let me see' },
              { type: 'tool_use', id: 'call_1', name: 'f', input: { a: 1 } },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'well?' },
              { type: 'tool_result', tool_use_id: 'call_1', content: 'no such f', is_error: true },
            ],
          },
        ],
      },
      {
        messages: [
          { role: 'assistant', content: 'let me see', tool_calls: [call] },
          { role: 'tool', tool_call_id: 'call_1', content: 'Error: no such f' },
          { role: 'user', content: 'well?' },
        ],
      },
    ],
    [
      'tools and the tool choice',
      { tools: [ownTool], tool_choice: { type: 'any', disable_parallel_tool_use: true } },
      { tools: [tool], tool_choice: 'required', parallel_tool_calls: false },
    ],
    [
      'sampling parameters, and usage at the end of a stream',
      { temperature: 1, top_p: 0.5, stop_sequences: ['END'], stream: true },
      {
        temperature: 1,
        top_p: 0.5,
        stop: ['END'],
        stream: true,
        stream_options: { include_usage: true },
      },
    ],
    [
      'the response format and the reasoning effort',
      { output_config: { effort: 'high', format: { type: 'json_schema', schema } } },
      {
        reasoning_effort: 'high',
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'answer', schema, strict: true },
        },
      },
    ],
    [
      'the user and the service tier',
      { metadata: { user_id: 'u' }, service_tier: 'standard_only' },
      { user: 'u', service_tier: 'default' },
    ],
  ])('translates %s', (_, stated, carried) => {
    expect(openAiOf(stated)).toEqual({
      model: 'm',
      max_completion_tokens: 9,
      messages: [user],
      ...carried,
    });
  });

  it('sends the output limit under the older name to providers other than OpenAI', () => {
    expect(openAiOf({}, 'vllm')).toEqual({ model: 'm', max_tokens: 9, messages: [user] });
  });

  it.each<[string, Body]>([
    ['messages[0].role', { messages: [{ role: 'tool', content: 'x' }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ type: 'x' }] }] }],
    [
      'messages[0].content[0].source.type',
      { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file' } }] }] },
    ],
    ['tools[0].type', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['container', { container: 'x' }],
    ['something_new', { something_new: true }],
  ])('is rejected at %s', (path, stated) => {
    expect(refusedPath(() => openAiOf(stated))).toBe(path);
  });
});

it('omits absent `citations` for Anthropic clients, because some reject null', () => {
  const message = { role: 'assistant', content: 'hi' };
  const answer = { id: 'c', model: 'm', choices: [{ message, finish_reason: 'stop' }] };
  expect(anthropicResponse(answer).content).toEqual([{ type: 'text', text: 'hi' }]);
});

it('translates a new thread of messages like any request', () => {
  expect(openAiOf({ thread: { type: 'create' } })).toEqual(openAiOf({}));
});
