/**
 * Checks that the input bound of a request is never below the provider's count, and that pictures
 * do not count as text.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inputBound } from '../../../src/gateway/metering/input-bound.ts';

const picture = 16_384;
const open = 1_000_000;
const tooling = 1_024;
const inline = `data:image/png;base64,${'A'.repeat(10_000)}`;

/** The reserved tokens beyond one per byte of the body. */
function beyondBytes(params: Record<string, unknown>, model = 'gpt-5'): number {
  const { length } = Buffer.from(JSON.stringify(params));
  return inputBound(params, length, model).inputTokens - length;
}

function stated(...content: unknown[]): Record<string, unknown> {
  return { messages: [{ role: 'user', content }] };
}

const address = 'https://x.test/a';
const tool = { type: 'function', function: { name: 'f' } };
const url = { type: 'image_url', image_url: { url: 'https://x.test/a.png' } };

describe('the input of a request', () => {
  it.each<[string, Record<string, unknown>, number]>([
    ['text', { messages: [{ role: 'user', content: 'hi' }] }, 0],
    ['parts of text', stated({ type: 'text', text: 'hi' }), 0],
    ['lists of texts and of tokens', { input: ['a', [1, 2]] }, 0],
    ['the prompt of a completion', { prompt: ['a', 'b'] }, 0],
    [
      'calls and their results',
      {
        messages: [
          { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'b' }] },
        ],
      },
      0,
    ],
    ['a text document', stated({ type: 'document', source: { type: 'text', data: 'hi' } }), 0],
    ['two pictures by address', stated(url, url), 2 * picture],
    ['a picture by id', { input: [{ content: [{ type: 'input_image', file_id: 'f' }] }] }, picture],
    [
      'a picture of Anthropic',
      stated({ type: 'image', source: { type: 'url', url: 'u' } }),
      picture,
    ],
    [
      'a picture in the result of a tool',
      stated({
        type: 'tool_result',
        tool_use_id: 'a',
        content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }],
      }),
      picture,
    ],
    ['a message of type text', { messages: [{ type: 'text', content: [url] }] }, picture],
    ['a file', stated({ type: 'file', file: { file_id: 'f' } }), open],
    [
      'several files, which share one context',
      stated({ type: 'input_file' }, { type: 'input_file' }),
      open,
    ],
    ['a document', stated({ type: 'document', source: { type: 'url', url: 'u' } }), open],
    ['audio', stated({ type: 'input_audio', input_audio: { data: 'A', format: 'wav' } }), open],
    ['a new thread', { thread: { type: 'create' }, messages: [] }, 0],
    ['a continued thread', { thread: { type: 'continue', previous_message_id: 'm' } }, open],
    ['earlier audio', { messages: [{ role: 'assistant', audio: { id: 'a' } }] }, open],
    [
      'a file in place of a picture',
      stated({ type: 'image_url', image_url: { url: 'data:application/pdf;base64,AAAA' } }),
      picture + open,
    ],
    ['an unknown part', stated({ type: 'hologram' }), open],
    ['a response stored by the provider', { input: 'hi', previous_response_id: 'r' }, open],
    ['a prompt stored by the provider', { prompt: { id: 'p' } }, open],
    ['tools of the caller', { tools: [tool, { name: 'f', input_schema: {} }] }, tooling],
    ['tools of the provider', { tools: [{ type: 'web_search' }] }, open + tooling],
    ['tools of Google in a chat', { tools: [{ google_search: {} }] }, open + tooling],
    ['tools of the caller without a type', { tools: [{ function: { name: 'f' } }] }, tooling],
    ['a conversation of Cohere', { message: 'hi', conversation_id: 'c' }, open],
    ['a search of xAI', { messages: [], search_parameters: { mode: 'on' } }, open],
    ['a search of Qwen', { messages: [], enable_search: true }, open],
    ['an index of Azure', { messages: [], data_sources: [{ type: 'azure_search' }] }, open],
    ['connectors of Cohere', { message: 'hi', connectors: [{ id: 'web-search' }] }, open],
    ['plugins of OpenRouter', { messages: [], plugins: [{ id: 'web' }] }, open],
    ['a preset of OpenRouter', { messages: [], preset: 'mine' }, open],
    ['a picture to embed', { input: [{ image: address }] }, picture],
    ['pictures to embed', { images: [inline, address], input_type: 'image' }, 2 * picture],
    ['a PDF to embed', { input: [{ pdf: address }] }, open],
    ['a single PDF to embed', { input: { pdf: address } }, open],
    ['pictures to rank', { query: 'x', documents: [{ image: address }, { text: 'a' }] }, picture],
    ['a picture to rank by', { query: { image_url: { url: address } }, documents: ['a'] }, picture],
    ['a video to score', { text_1: 'a', text_2: { content: [{ videoUrl: address }] } }, open],
    ['a picture in a part without a type', stated({ image_url: { url: address } }), picture],
    ['a picture in a text', stated({ type: 'text', text: 'a', image: address }), picture],
    ['pictures beside a text', { messages: [{ content: 'a', images: [address] }] }, picture],
    ['a file of the account in a text', stated({ type: 'text', text: 'a', file_id: 'f' }), open],
    ['addresses to read', { messages: [], context_urls: [address] }, open],
    ['a file to read below other members', { extra_body: { a: [{ fileUrl: address }] } }, open],
    [
      'a compaction',
      { messages: [], context_management: { edits: [{ type: 'compact_1' }] } },
      open,
    ],
    ['a compaction of a response', { context_management: [{ type: 'compaction' }] }, open],
    ['documents that are addresses as texts', { query: 'x', documents: [address] }, 0],
    ['documents with addresses', { documents: [{ text: 'a', url: address, uri: address }] }, 0],
    ['settings of media', { image_size: '1:1', audio: { voice: 'a', format: 'wav' } }, 0],
    ['addresses that no model reads', { webhook_url: address, metadata: { url: address } }, 0],
    [
      'addresses in calls of tools',
      stated({ type: 'tool_use', id: 'a', name: 'f', input: { url: address } }),
      0,
    ],
  ])('bounds a request with %s', (_, params, tokens) => {
    expect(beyondBytes(params)).toBe(tokens);
  });

  it.each<[string, Record<string, unknown>]>([
    ['OpenAI', stated({ type: 'image_url', image_url: { url: inline } })],
    [
      'a response of OpenAI',
      { input: [{ content: [{ type: 'input_image', image_url: inline }] }] },
    ],
    ['Anthropic', stated({ type: 'image', source: { type: 'base64', data: 'A'.repeat(10_022) } })],
  ])('excludes the bytes of a picture in the format of %s from the text', (_, params) => {
    expect(beyondBytes(params)).toBe(picture - inline.length);
  });

  it.each(['openai/gpt-5:online', 'groq/compound', 'compound-mini'])(
    'bounds what %s reads before it answers',
    (model) => {
      expect(beyondBytes({ messages: [] }, model)).toBe(open);
    },
  );

  it('reserves more tokens for a picture where the model counts more', () => {
    expect(beyondBytes(stated(url), 'gpt-4o-mini-2024-07-18')).toBe(49_152);
  });

  it('bounds input of any shape, and never below its text', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), (more, messages) => {
        expect(beyondBytes({ ...more, messages, input: messages })).toBeGreaterThanOrEqual(0);
      }),
    );
    let nested: unknown = url;
    for (let depth = 0; depth < 200; depth += 1) nested = { content: [nested] };
    expect(beyondBytes({ messages: [nested] })).toBeGreaterThanOrEqual(open);
  });
});
