/** Checks that reasoning reaches clients of every format, and returns unchanged to the provider that issued it. */
import { describe, expect, it } from 'vitest';
import { translationFor } from '../../../src/upstream/formats/all-translations.ts';
import {
  hasPackedReasoning,
  withoutPackedReasoning,
} from '../../../src/upstream/translation/packed-reasoning.ts';
import { TranslatedEvents } from '../../../src/upstream/translation/translated-events.ts';

type Body = Readonly<Record<string, unknown>>;

const responsesToAnthropic = translationFor('/responses', 'anthropic', false)!;
const chatToAnthropic = translationFor('/chat/completions', 'anthropic')!;
const messagesToChat = translationFor('/messages', 'openai')!;
const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' } }];
const question = { role: 'user', content: 'why?' };
const request = { model: 'm', input: [question], tools };
const response = { id: 'resp_1', createdAt: 0, conversationId: null, request };
const about = { now: 0, wantsUsage: false, response };

const thinking = { type: 'thinking', thinking: 'Let me see. Łódź', signature: 'c2lnbmVk' };
const redacted = { type: 'redacted_thinking', data: 'aGlkZGVu' };
const call = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [thinking, redacted, call],
  stop_reason: 'tool_use',
  usage: { input_tokens: 1, output_tokens: 1 },
};

function sent(translation: typeof chatToAnthropic, body: Body, service: string) {
  const dropped: string[] = [];
  const translated = translation.request(body, { service, unsupported: null, dropped });
  return { body: translated as Body & { readonly messages: readonly Body[] }, dropped };
}

/** The stream of Anthropic that says the message in pieces. */
function streamOf(): Buffer {
  const { content, ...head } = message;
  const events: Body[] = [{ type: 'message_start', message: { ...head, content: [] } }];
  for (const [index, block] of content.entries()) {
    const isThinking = block.type === 'thinking';
    const begun = isThinking ? { ...block, thinking: '', signature: '' } : block;
    events.push({ type: 'content_block_start', index, content_block: begun });
    if (isThinking) {
      for (const delta of [
        { type: 'thinking_delta', thinking: 'Let me see.' },
        { type: 'thinking_delta', thinking: ' Łódź' },
        { type: 'signature_delta', signature: 'c2lnbmVk' },
      ]) {
        events.push({ type: 'content_block_delta', index, delta });
      }
    }
    events.push({ type: 'content_block_stop', index });
  }
  events.push({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: {} });
  events.push({ type: 'message_stop' });
  return Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
}

function dataOf(translation: typeof chatToAnthropic, bytes: Buffer): Body[] {
  const events = new TranslatedEvents(translation.events(about));
  const text = Buffer.concat([events.pass(bytes), events.rest()]).toString();
  const lines = text.split('\n').filter((line) => line.startsWith('data: {'));
  return lines.map((line) => JSON.parse(line.slice(6)) as Body);
}

describe('reasoning of Anthropic', () => {
  const result = { type: 'function_call_output', call_id: 'toolu_1', output: 'done' };

  it('returns byte for byte through responses, whole and streamed', () => {
    const whole = responsesToAnthropic.response(message, about) as { readonly output: Body[] };
    const last = dataOf(responsesToAnthropic, streamOf()).at(-1) as {
      readonly response: { readonly output: Body[] };
    };
    expect(last.response.output).toEqual(whole.output);
    expect(whole.output[0]).toMatchObject({
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: thinking.thinking }],
    });
    const { body } = sent(
      responsesToAnthropic,
      { ...request, input: [question, ...whole.output, result] },
      'anthropic',
    );
    expect(body.messages[1]).toEqual({ role: 'assistant', content: [thinking, redacted, call] });
  });

  it('returns byte for byte through a chat', () => {
    const chat = chatToAnthropic.response(message, about) as {
      readonly choices: readonly { readonly message: Body }[];
    };
    const reply = chat.choices[0]!.message;
    expect(reply.reasoning_content).toBe(thinking.thinking);
    const { body, dropped } = sent(
      chatToAnthropic,
      { model: 'm', messages: [question, reply] },
      'anthropic',
    );
    expect(body.messages[1]!.content).toEqual([thinking, redacted, call]);
    expect(dropped).toEqual([]);
  });

  it('loses its signature when a caller changes its text', () => {
    const { output } = responsesToAnthropic.response(message, about) as { readonly output: Body[] };
    const changed = { ...output[0], summary: [{ type: 'summary_text', text: 'changed' }] };
    const input = [question, changed, ...output.slice(1), result];
    const { body, dropped } = sent(responsesToAnthropic, { ...request, input }, 'anthropic');
    expect(body.messages[1]!.content).toEqual([call]);
    expect(dropped).toContain('messages[].reasoning_details');
  });
});

describe('reasoning of a chat for a client of messages', () => {
  const details = [
    { type: 'reasoning.text', text: 'Hm. ', format: 'other-v1', index: 0 },
    { type: 'reasoning.encrypted', data: 'b3BhcXVl', format: 'other-v1', index: 1 },
  ];
  const reply = { role: 'assistant', reasoning: 'Hm. ', reasoning_details: details, content: 'so' };
  const chat = { id: 'c', model: 'm', choices: [{ message: reply, finish_reason: 'stop' }] };

  it('is a block of thinking that returns as the same details', () => {
    const { content } = messagesToChat.response(chat, about) as { readonly content: Body[] };
    expect(content).toMatchObject([{ type: 'thinking', thinking: 'Hm. ' }, { text: 'so' }]);
    const messages = [question, { role: 'assistant', content }];
    const { body } = sent(messagesToChat, { model: 'm', max_tokens: 9, messages }, 'openrouter');
    expect(body.messages[1]).toMatchObject({ content: 'so', reasoning_details: details });
    const plain = sent(messagesToChat, { model: 'm', max_tokens: 9, messages }, 'openai');
    expect(plain.body.messages[1]).toEqual({ role: 'assistant', content: 'so' });
    expect(plain.dropped).toEqual(['messages[].content[thinking]']);
  });

  it('is the same streamed', () => {
    const chunk = (delta: Body, finish: string | null = null) =>
      `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ delta, finish_reason: finish }] })}\n\n`;
    const stream = [
      chunk({ reasoning: 'Hm', reasoning_details: [{ ...details[0], text: 'Hm' }] }),
      chunk({ reasoning: '. ', reasoning_details: [{ ...details[0], text: '. ' }] }),
      chunk({ reasoning_details: [details[1]] }),
      chunk({ content: 'so' }),
      chunk({}, 'stop'),
      'data: [DONE]\n\n',
    ];
    const { content } = messagesToChat.response(chat, about) as { readonly content: Body[] };
    const events = dataOf(messagesToChat, Buffer.from(stream.join('')));
    const deltas = events.flatMap(({ delta }) => (delta === undefined ? [] : [delta as Body]));
    expect(deltas.map((delta) => delta.thinking ?? '').join('')).toBe('Hm. ');
    expect(deltas.find(({ signature }) => signature !== undefined)!.signature).toBe(
      content[0]!.signature,
    );
  });

  it('is removed from a request to a provider of messages, which would reject its signature', () => {
    const { content } = messagesToChat.response(chat, about) as { readonly content: Body[] };
    const own = { type: 'thinking', thinking: 'own', signature: 'c2lnbmVk' };
    const body = {
      thinking: { type: 'enabled', budget_tokens: 2000 },
      messages: [question, { role: 'assistant', content: [own, ...content] }],
    };
    expect(hasPackedReasoning('/messages', body)).toBe(true);
    const sentOn = withoutPackedReasoning('/messages', body);
    expect(sentOn).toEqual({
      thinking: body.thinking,
      messages: [question, { role: 'assistant', content: [own, content[1]] }],
    });
    expect(hasPackedReasoning('/messages', sentOn)).toBe(false);
    const called = [question, { role: 'assistant', content: [...content, call] }];
    expect(withoutPackedReasoning('/messages', { ...body, messages: called })).not.toHaveProperty(
      'thinking',
    );
  });
});

describe('a call that another model made', () => {
  const model = 'gemini-3-pro-preview';
  const mark = 'skip_thought_signature_validator';
  const calls = ['a', 'b'].map((id) => ({ type: 'tool_use', id, name: 'f', input: {} }));
  const called = {
    model,
    max_tokens: 9,
    messages: [question, { role: 'assistant', content: calls }],
  };

  it('carries the mark that Gemini 3 demands of it, in both formats of Google', () => {
    const toGoogle = translationFor('/messages', 'gemini')!;
    const own = sent(toGoogle, called, 'google').body as unknown as {
      readonly contents: readonly { readonly parts: readonly Body[] }[];
    };
    const signatures = own.contents[1]!.parts.map((part) => part.thoughtSignature);
    expect(signatures).toEqual([mark, undefined]);
    const { body } = sent(messagesToChat, called, 'google');
    const [first, second] = body.messages[1]!.tool_calls as readonly Body[];
    expect(first!.extra_content).toEqual({ google: { thought_signature: mark } });
    expect(second).not.toHaveProperty('extra_content');
  });

  it('is sent without it to models that demand none', () => {
    const { body } = sent(messagesToChat, { ...called, model: 'gemini-2.5-pro' }, 'google');
    expect(JSON.stringify(body)).not.toContain(mark);
    expect(JSON.stringify(sent(messagesToChat, called, 'openai').body)).not.toContain(mark);
  });

  it('keeps its place in a request of Gemini to Gemini, without packed reasoning', () => {
    const path = '/v1beta/models:generateContent';
    const packed = 'gatewright1/W10=';
    const parts = [
      { text: 'hm', thought: true, thoughtSignature: packed },
      { text: 'so', thoughtSignature: 'b3du' },
      { functionCall: { name: 'f' }, thoughtSignature: packed },
    ];
    const body = { model, contents: [{ role: 'model', parts }] };
    expect(hasPackedReasoning(path, body)).toBe(true);
    expect(withoutPackedReasoning(path, body).contents).toEqual([
      {
        role: 'model',
        parts: [parts[1], { functionCall: { name: 'f' }, thoughtSignature: mark }],
      },
    ]);
  });
});
