/** Verifies translations of chats, messages and responses to Converse of Bedrock, and of its responses and events. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConverseRequest } from '@aws-sdk/client-bedrock-runtime';
import { describe, expect, it } from 'vitest';
import { translationFor } from '../../../src/upstream/formats/all-translations.ts';
import { FrameEvents } from '../../../src/upstream/frames/frames-to-events.ts';
import { TranslatedEvents } from '../../../src/upstream/translation/translated-events.ts';
import { eventFrame, exceptionFrame } from '../../support/upstream/bedrock.ts';

const chat = translationFor('/chat/completions', 'converse', false)!;
const messages = translationFor('/messages', 'converse', false)!;

type SentRequest = Partial<ConverseRequest> & { readonly model?: unknown };

function sent(
  translation: typeof chat,
  body: object,
  unsupported: 'drop' | 'refuse' | null = null,
) {
  const dropped: string[] = [];
  const request = translation.request(body as Record<string, unknown>, {
    service: 'bedrock',
    unsupported,
    dropped,
  });
  return { request: request as SentRequest, dropped };
}

const usage = { inputTokens: 10, outputTokens: 4, totalTokens: 14, cacheReadInputTokens: 6 };
const about = { now: 1_700_000_000_000, wantsUsage: true, model: 'amazon.nova-pro-v1:0' };

const conversation = {
  model: 'amazon.nova-pro-v1:0',
  messages: [
    {
      role: 'system',
      content: [{ type: 'text', text: 'brief', cache_control: { type: 'ephemeral' } }],
    },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'look' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
        {
          type: 'file',
          file: { file_data: 'data:application/pdf;base64,aGk=', filename: 'a/b.pdf' },
        },
      ],
    },
    {
      role: 'assistant',
      content: null,
      reasoning_details: [
        {
          type: 'reasoning.text',
          text: 'hm',
          signature: 's',
          format: 'amazon-bedrock-v1',
          index: 0,
        },
        { type: 'reasoning.encrypted', data: 'x', format: 'anthropic-claude-v1', index: 1 },
      ],
      tool_calls: [{ id: 't1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
    },
    { role: 'tool', tool_call_id: 't1', content: 'done' },
    { role: 'user', content: 'next' },
  ],
  tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
  tool_choice: { type: 'function', function: { name: 'f' } },
  max_completion_tokens: 100,
  temperature: 0.5,
  top_p: 0.9,
  stop: 'END',
  reasoning_effort: 'low',
  top_k: 5,
  user: 'u',
  stream: true,
};

describe('a chat for Converse', () => {
  it('keeps system, tools, images, documents, reasoning, results and settings', () => {
    const { request, dropped } = sent(chat, conversation);
    expect(request).toEqual({
      model: 'amazon.nova-pro-v1:0',
      stream: true,
      system: [{ text: 'brief' }, { cachePoint: { type: 'default' } }],
      messages: [
        {
          role: 'user',
          content: [
            { text: 'look' },
            { image: { format: 'png', source: { bytes: 'aGk=' } } },
            { document: { format: 'pdf', name: 'a b', source: { bytes: 'aGk=' } } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { reasoningContent: { reasoningText: { text: 'hm', signature: 's' } } },
            { toolUse: { toolUseId: 't1', name: 'f', input: { a: 1 } } },
          ],
        },
        {
          role: 'user',
          content: [
            { toolResult: { toolUseId: 't1', content: [{ text: 'done' }] } },
            { text: 'next' },
          ],
        },
      ],
      toolConfig: {
        tools: [{ toolSpec: { name: 'f', inputSchema: { json: { type: 'object' } } } }],
        toolChoice: { tool: { name: 'f' } },
      },
      inferenceConfig: { maxTokens: 100, temperature: 0.5, topP: 0.9, stopSequences: ['END'] },
      additionalModelRequestFields: { inferenceConfig: { topK: 5 } },
    });
    expect(dropped).toEqual(['user', 'messages[].reasoning_details[]', 'reasoning_effort']);
  });

  it.each([
    ['seed', { seed: 1 }],
    ['n', { n: 2 }],
    ['logprobs', { logprobs: true }],
    ['tools[0].type', { tools: [{ type: 'web_search' }] }, 'tools[]'],
    ['response_format.type', { response_format: { type: 'json_object' } }, 'response_format'],
    ['tool_choice.type', { tool_choice: { type: 'allowed_tools' } }, 'tool_choice'],
    [
      'messages[0].content[0].type',
      { messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] },
      'messages[].content[input_audio]',
    ],
    ['unknown', { unknown: 1 }],
  ])('is refused with %s, unless the config drops it', (path, members, dropped = path) => {
    const body = { ...conversation, ...members };
    expect(() => sent(chat, body)).toThrow(expect.objectContaining({ path }));
    expect(sent(chat, body, 'drop').dropped).toContain(dropped);
  });

  it('is refused with hints where the config refuses them', () => {
    expect(() => sent(chat, conversation, 'refuse')).toThrow(/user/);
  });

  it('requires structured output by its schema', () => {
    const response_format = {
      type: 'json_schema',
      json_schema: { name: 'answer', schema: { type: 'object' }, strict: true },
    };
    expect(sent(chat, { ...conversation, response_format }).request.outputConfig).toMatchObject({
      textFormat: {
        type: 'json_schema',
        structure: { jsonSchema: { name: 'answer', schema: '{"type":"object"}' } },
      },
    });
  });

  it('passes members of Converse on', () => {
    const guardrailConfig = { guardrailIdentifier: 'g', guardrailVersion: '1' };
    const { request } = sent(chat, { ...conversation, guardrailConfig });
    expect(request.guardrailConfig).toEqual(guardrailConfig);
  });
});

describe('a request of a coding agent for Converse', () => {
  it.each([
    ['claude-code', '/messages'],
    ['opencode-messages', '/messages'],
    ['opencode-chat', '/chat/completions'],
    ['codex-tools-in-input', '/responses'],
  ])('is translated without a refusal: %s', (agent, path) => {
    const file = join(import.meta.dirname, `../../support/agents/${agent}.json`);
    const { body } = JSON.parse(readFileSync(file, 'utf8'));
    const { request } = sent(translationFor(path, 'converse', false)!, body);
    expect(request.messages!.length).toBeGreaterThan(0);
    expect(request.toolConfig!.tools!.length).toBeGreaterThan(0);
  });
});

describe('a message of Anthropic for Converse', () => {
  it('is translated by way of a chat', () => {
    const body = { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] };
    expect(sent(messages, body).request).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: [{ text: 'hi' }] }],
      inferenceConfig: { maxTokens: 5 },
    });
  });
});

describe('a response of Converse', () => {
  const response = {
    output: {
      message: {
        role: 'assistant',
        content: [
          { reasoningContent: { reasoningText: { text: 'hm', signature: 's' } } },
          { text: 'a' },
          { text: 'b' },
          { toolUse: { toolUseId: 't', name: 'f', input: { x: 1 } } },
        ],
      },
    },
    stopReason: 'tool_use',
    usage,
    trace: { guardrail: { inputAssessment: {} } },
  };

  it('becomes a chat completion with reasoning, calls, usage and the trace of guardrails', () => {
    expect(chat.response(response, about)).toMatchObject({
      object: 'chat.completion',
      model: 'amazon.nova-pro-v1:0',
      choices: [
        {
          message: {
            content: 'ab',
            reasoning_content: 'hm',
            reasoning_details: [
              { type: 'reasoning.text', text: 'hm', signature: 's', format: 'amazon-bedrock-v1' },
            ],
            tool_calls: [{ id: 't', function: { name: 'f', arguments: '{"x":1}' } }],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage: {
        prompt_tokens: 16,
        completion_tokens: 4,
        total_tokens: 20,
        prompt_tokens_details: { cached_tokens: 6 },
      },
      trace: response.trace,
    });
  });

  it('becomes a message of Anthropic', () => {
    expect(messages.response(response, about)).toMatchObject({
      type: 'message',
      stop_reason: 'tool_use',
      content: expect.arrayContaining([{ type: 'tool_use', id: 't', name: 'f', input: { x: 1 } }]),
    });
  });

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['guardrail_intervened', 'content_filter'],
    ['content_filtered', 'content_filter'],
  ])('maps its stop reason: %s', (stopReason, finish_reason) => {
    const translated = chat.response({ ...response, stopReason }, about);
    expect(translated).toMatchObject({ choices: [{ finish_reason }] });
  });

  it('is refused without content', () => {
    expect(() => chat.response({ output: {} }, about)).toThrow(/output\.message/);
  });
});

describe('a stream of Converse', () => {
  function chunksOf(translation: typeof chat, ...frames: readonly Buffer[]) {
    const events = new TranslatedEvents(translation.events(about));
    const reader = new FrameEvents();
    const bytes = frames.map((frame) => events.pass(reader.pass(frame)).toString());
    return bytes.join('') + events.rest().toString();
  }
  const start = eventFrame('messageStart', { role: 'assistant', p: 'abc' });
  const text = eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'hi' } });
  const stop = eventFrame('messageStop', { stopReason: 'end_turn' });
  const metadata = eventFrame('metadata', { usage, metrics: { latencyMs: 1 } });

  interface Chunk {
    readonly choices: readonly { readonly delta: object }[];
    readonly usage?: object;
  }

  function dataOf(stream: string): Chunk[] {
    const lines = stream.split('\n').filter((line) => line.startsWith('data: {'));
    return lines.map((line) => JSON.parse(line.slice('data: '.length)));
  }

  it('becomes chunks of a chat, with usage at the end', () => {
    const stream = chunksOf(
      chat,
      start,
      eventFrame('contentBlockDelta', {
        contentBlockIndex: 0,
        delta: { reasoningContent: { text: 'hm' } },
      }),
      eventFrame('contentBlockDelta', {
        contentBlockIndex: 0,
        delta: { reasoningContent: { signature: 's' } },
      }),
      text,
      eventFrame('contentBlockStart', {
        contentBlockIndex: 1,
        start: { toolUse: { toolUseId: 't', name: 'f' } },
      }),
      eventFrame('contentBlockDelta', {
        contentBlockIndex: 1,
        delta: { toolUse: { input: '{"x":' } },
      }),
      eventFrame('contentBlockDelta', {
        contentBlockIndex: 1,
        delta: { toolUse: { input: '1}' } },
      }),
      eventFrame('contentBlockStop', { contentBlockIndex: 1 }),
      eventFrame('messageStop', { stopReason: 'tool_use' }),
      metadata,
    );
    expect(stream.endsWith('data: [DONE]\n\n')).toBe(true);
    const deltas = dataOf(stream).flatMap(({ choices }) => choices);
    expect(deltas.map(({ delta }) => delta)).toEqual([
      { role: 'assistant', content: '', refusal: null },
      {
        reasoning_content: 'hm',
        reasoning_details: [
          { type: 'reasoning.text', text: 'hm', format: 'amazon-bedrock-v1', index: 0 },
        ],
      },
      {
        reasoning_details: [
          { type: 'reasoning.text', signature: 's', format: 'amazon-bedrock-v1', index: 0 },
        ],
      },
      { content: 'hi' },
      {
        tool_calls: [
          { index: 0, id: 't', type: 'function', function: { name: 'f', arguments: '' } },
        ],
      },
      { tool_calls: [{ index: 0, function: { arguments: '{"x":' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '1}' } }] },
      {},
    ]);
    expect(dataOf(stream).at(-1)!.usage).toMatchObject({ prompt_tokens: 16, completion_tokens: 4 });
  });

  it('becomes events of a message', () => {
    const stream = chunksOf(messages, start, text, stop, metadata);
    expect(stream).toContain('event: message_start');
    expect(stream).toContain('"text":"hi"');
    expect(stream).toContain('event: message_stop');
  });

  it.each([
    ['has an exception', exceptionFrame('throttlingException', 'too many'), 'too many'],
    ['breaks off', Buffer.alloc(0), 'broke off'],
  ])('ends with an error event when it %s', (_, frame, message) => {
    const stream = chunksOf(chat, start, text, frame);
    expect(dataOf(stream).at(-1)).toMatchObject({
      error: { message: expect.stringContaining(message) },
    });
    expect(stream).not.toContain('[DONE]');
  });
});
