/** Tests the estimate of a stream that ended without a usage report. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Admission } from '../../../src/gateway/metering/admit.ts';
import { ArrivedText } from '../../../src/gateway/metering/arrived-text.ts';
import { countedOutput, stopsWithStream } from '../../../src/gateway/metering/counted-output.ts';

const event = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;

/** One event with a text in each format, and the endpoint of the format. */
const formats: readonly (readonly [endpoint: string, event: (text: string) => object])[] = [
  [
    'chat_completions',
    (content) => ({
      id: 'chatcmpl-1',
      choices: [{ index: 0, delta: { role: 'assistant', content }, logprobs: null }],
      obfuscation: 'abcdef',
    }),
  ],
  [
    'chat_completions',
    (text) => ({
      choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: text } }] } }],
    }),
  ],
  ['chat_completions', (text) => ({ choices: [{ delta: { reasoning_content: text } }] })],
  ['completions', (text) => ({ choices: [{ text, index: 0, finish_reason: null }] })],
  [
    'messages',
    (text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  ],
  ['messages', (partial_json) => ({ delta: { type: 'input_json_delta', partial_json }, index: 1 })],
  [
    'responses',
    (delta) => ({ type: 'response.output_text.delta', item_id: 'msg_1', delta, output_index: 0 }),
  ],
];

function textOf(endpoint: string, events: readonly object[]): ArrivedText {
  const text = new ArrivedText(endpoint);
  text.add(Buffer.from(events.map(event).join('')));
  return text;
}

describe('the text of a stream', () => {
  it.each(formats)('is counted in an event of %s, and nothing beside it', (endpoint, make) => {
    expect(textOf(endpoint, [make('a'.repeat(300))]).tokens).toBe(100);
    expect(textOf(endpoint, [make('ab'), make('c'), make('d')]).tokens).toBe(3);
    expect(textOf(endpoint, [make('é'.repeat(100))]).tokens).toBe(100);
  });

  it('has at least one token for each event with text, wherever its lines are cut', () => {
    const texts = fc.array(fc.string({ unit: 'binary', minLength: 1 }), { minLength: 1 });
    fc.assert(
      fc.property(fc.constantFrom(...formats), texts, ([endpoint, make], parts) => {
        const whole = textOf(endpoint, parts.map(make));
        const one = new ArrivedText(endpoint);
        for (const part of parts) one.add(Buffer.from(event(make(part))));
        expect(one.tokens).toBe(whole.tokens);
        expect(whole.tokens).toBeGreaterThanOrEqual(parts.length);
        const bytes = Buffer.byteLength(parts.join(''));
        expect(whole.tokens).toBeGreaterThanOrEqual(Math.ceil(bytes / 3));
      }),
    );
  });

  it('excludes signatures, ids and padding, and survives broken events', () => {
    const signature = { type: 'signature_delta', signature: 'x'.repeat(3_000) };
    expect(textOf('messages', [{ delta: signature }]).tokens).toBe(0);
    expect(textOf('chat_completions', [{ choices: [{ delta: null }] }]).tokens).toBe(0);
    const broken = new ArrivedText('messages');
    broken.add(Buffer.from('data: {"delta":{"text":"ab'));
    broken.add(Buffer.from('data: "delta"'));
    expect(broken.tokens).toBe(1);
  });
});

/** An admitted call that may write 10,000 tokens. */
function call(params: object, service = 'mock-upstream', model = 'm') {
  const target = { params, metering: 'chat_completions', pricing: { service, model } };
  return { target, admittedMs: 1_000, outputTokens: 10_000 } as unknown as Admission;
}

describe('the output of a stream without a usage report', () => {
  const text = textOf('chat_completions', [formats[0]![1]('a'.repeat(300))]);
  const output = (admission: Admission, afterSeconds: number) =>
    countedOutput(admission, text, text.tokens, admission.admittedMs + afterSeconds * 1_000);

  it('is the text that arrived, at most what was granted', () => {
    expect(output(call({}), 60)).toBe(100);
    expect(countedOutput({ ...call({}), outputTokens: 40 }, text, text.tokens, 2_000)).toBe(40);
  });

  it.each<[string, Admission]>([
    ['requests an effort', call({ reasoning_effort: 'high' })],
    ['requests reasoning', call({ reasoning: {} })],
    ['requests thinking', call({ thinking: { type: 'adaptive' } })],
    ['calls a model that thinks by itself', call({}, 'openai', 'gpt-5')],
  ])('includes hidden thinking of each second where the request %s', (_, admission) => {
    expect(output(admission, 4)).toBe(2_100);
    expect(output(admission, 600)).toBe(10_000);
  });

  it.each<[string, Admission]>([
    ['excludes it', call({ reasoning_effort: 'none' }, 'openai', 'gpt-5')],
    [
      'sets a budget of nothing for it',
      call({ generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }, 'google', 'gemini-3'),
    ],
    ['disables it', call({ thinking: { type: 'disabled' } })],
    ['calls a model without it', call({}, 'openai', 'gpt-4o')],
    ['calls a service that sends it', call({}, 'deepseek', 'deepseek-reasoner')],
  ])('includes no hidden thinking where the request %s', (_, admission) => {
    expect(output(admission, 60)).toBe(100);
  });

  it('includes hidden thinking where a summary of it arrived', () => {
    const summary = textOf('messages', [{ delta: { type: 'thinking_delta', thinking: 'abc' } }]);
    expect(countedOutput(call({}), summary, summary.tokens, 3_000)).toBe(1_001);
  });

  it('is known only where the provider stops with the stream', () => {
    expect(stopsWithStream(call({}))).toBe(true);
    expect(stopsWithStream(call({ background: true }))).toBe(false);
    const run = call({});
    expect(stopsWithStream({ target: { ...run.target, metering: 'runs' } })).toBe(false);
  });
});
