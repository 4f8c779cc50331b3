/**
 * Verifies on random documents that what guardrails judge is what is sent: in every escape, encoding and division into
 * chunks, against a reference that decodes each document once.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { chatAnswer } from '../../support/upstream/upstream.ts';

let inference: Inference;
let key: string;

beforeAll(async () => {
  inference = await startInference();
  ({ key } = await inference.addKey());
});
afterAll(() => inference[Symbol.asyncDispose]());

/** Parts of texts: the word in pieces and as a whole, two forms of a letter, pairs, half a pair, what JSON escapes. */
const parts = fc.constantFrom(
  'canary',
  'can',
  'ary',
  ' ',
  'é',
  'e\u0301',
  '😀',
  '\ud83d',
  '"',
  '\\',
  '/',
  '\n',
  '\u0000',
  '\u2028',
  '\\u0063anary',
);
const texts = fc.array(parts, { minLength: 1, maxLength: 8 }).map((list) => list.join(''));
/** Selects for each character how it is written. */
const hands = fc.array(fc.nat(3), { minLength: 1, maxLength: 20 });

/** Writes a JSON string with escapes that nobody needs. */
function written(text: string, hand: readonly number[]): string {
  const units = Array.from({ length: text.length }, (_, at) => text[at]!);
  const letters = units.map((unit, at) => {
    const code = unit.charCodeAt(0);
    const hex = code.toString(16).padStart(4, '0');
    const isPlain = code >= 0x20 && unit !== '"' && unit !== '\\' && (code & 0xf800) !== 0xd800;
    switch (hand[at % hand.length]) {
      case 0:
        return `\\u${hex}`;
      case 1:
        return `\\u${hex.toUpperCase()}`;
      case 2:
        return unit === '/' ? '\\/' : isPlain ? unit : `\\u${hex}`;
      default:
        return isPlain ? unit : `\\u${hex}`;
    }
  });
  return `"${letters.join('')}"`;
}

const replaced = (text: string): string => text.replaceAll('canary', '[x]');
const replaces = { 'default.regexReplace': { rule: 'canary', redactText: '[x]' } };
const forbids = {
  'default.contains': { words: ['canary'], operator: 'none' },
  deny: true,
  scan_scope: 'all_messages',
};
const all = { ...replaces, scan_scope: 'all_messages' };

function ask(body: string, guardrails: object) {
  const config = { provider: 'mock-upstream', custom_host: inference.upstream.url, ...guardrails };
  return fetch(`${inference.server.inferenceUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${key}`,
      'x-gateway-config': JSON.stringify(config),
    },
    body,
  });
}

/** A chat whose texts, names and JSON within JSON are written by hand. */
function chatWith(text: string, hand: readonly number[]): string {
  const content = written(text, hand);
  const inner = written(`{"note":${written(text, [...hand, 3])}}`, hand);
  return `{"model":"m","messages":[
    {"role":"user","content":${content}},
    {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",
      "function":{"name":"t","arguments":${inner}}}]},
    {"role":"tool","tool_call_id":"c","content":[{"type":"text","text":${content}}]}
  ],"metadata":{"free":${content}}}`;
}

describe('a request', () => {
  it('reaches the provider with exactly the texts that were judged', async () => {
    await fc.assert(
      fc.asyncProperty(texts, hands, async (text, hand) => {
        inference.upstream.reached.length = 0;
        const response = await ask(chatWith(text, hand), { input_guardrails: [all] });
        await response.arrayBuffer();
        expect(response.status).toBe(200);
        const sent = JSON.parse(String(inference.upstream.reached[0]!.body));
        const [user, assistant, tool] = sent.messages;
        expect(user.content).toBe(replaced(text));
        expect(tool.content[0].text).toBe(replaced(text));
        expect(sent.metadata.free).toBe(replaced(text));
        const args = JSON.parse(assistant.tool_calls[0].function.arguments);
        expect(args.note).not.toContain('canary');
      }),
      { numRuns: 150 },
    );
  });

  it('is denied exactly if a text contains the word after it is decoded once', async () => {
    await fc.assert(
      fc.asyncProperty(texts, hands, async (text, hand) => {
        inference.upstream.reached.length = 0;
        const body = `{"model":"m","messages":[{"role":"user","content":${written(text, hand)}}]}`;
        const { status } = await ask(body, { input_guardrails: [forbids] });
        expect(status).toBe(text.includes('canary') ? 446 : 200);
        expect(inference.upstream.reached).toHaveLength(status === 200 ? 1 : 0);
      }),
      { numRuns: 150 },
    );
  });
});

describe('a response', () => {
  it('reaches the caller with exactly the texts that were judged', async () => {
    await fc.assert(
      fc.asyncProperty(texts, hands, async (text, hand) => {
        inference.upstream.script = (_, response) => {
          const content = written(text, hand);
          response.writeHead(200, { 'content-type': 'application/json' });
          response.end(
            `{"id":"a","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":${content}}}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`,
          );
        };
        const body = '{"model":"m","messages":[{"role":"user","content":"x"}]}';
        const response = await ask(body, { output_guardrails: [replaces] });
        const answer = JSON.parse(await response.text());
        expect(answer.choices[0].message.content).toBe(replaced(text));
      }),
      { numRuns: 150 },
    );
  });

  it.each([
    ['held back', replaces],
    ['in windows', { ...replaces, stream: { window: { bytes: 64, overlap: 24 } } }],
  ])('is refused where an object repeats a member (%s)', async (_, guardrail) => {
    const message = '{"role":"assistant","content":"canary","content":"x"}';
    inference.upstream.script = ({ body }, response) => {
      const isStream = JSON.parse(body.toString('utf8')).stream === true;
      const type = isStream ? 'text/event-stream' : 'application/json';
      response.writeHead(200, { 'content-type': type });
      const member = isStream ? 'delta' : 'message';
      const whole = `{"id":"a","model":"m","choices":[{"index":0,"${member}":${message}}]}`;
      response.end(isStream ? `data: ${whole}\n\ndata: [DONE]\n\n` : whole);
    };
    for (const stream of [false, true]) {
      const body = `{"model":"m","stream":${stream},"messages":[{"role":"user","content":"x"}]}`;
      const response = await ask(body, { output_guardrails: [guardrail] });
      const text = await response.text();
      expect(text).toContain('answer_unreadable');
      expect(text).not.toContain('canary');
    }
  });

  const modes = {
    'held back': replaces,
    'in windows': { ...replaces, stream: { window: { bytes: 64, overlap: 24 } } },
  };
  it.each(Object.entries(modes))(
    'reaches the caller of a stream that is judged %s with exactly these texts',
    async (_, guardrail) => {
      const pieces = fc.array(texts, { minLength: 1, maxLength: 12 });
      const cuts = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 8 });
      await fc.assert(
        fc.asyncProperty(pieces, hands, cuts, async (list, hand, lengths) => {
          inference.upstream.script = (_request, response) => {
            const events = list.map((piece) => {
              const { id, object, model } = chatAnswer;
              const head = JSON.stringify({ id, object, model }).slice(0, -1);
              return `data: ${head},"choices":[{"index":0,"delta":{"content":${written(piece, hand)}}}]}\n\n`;
            });
            const bytes = Buffer.from(`${events.join('')}data: [DONE]\n\n`);
            response.writeHead(200, { 'content-type': 'text/event-stream' });
            for (let at = 0, index = 0; at < bytes.length; index += 1) {
              const length = lengths[index % lengths.length]!;
              response.write(bytes.subarray(at, at + length));
              at += length;
            }
            response.end();
          };
          const body = '{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}';
          const response = await ask(body, { output_guardrails: [guardrail] });
          const sent = (await response.text())
            .split('\n\n')
            .filter((event) => event.startsWith('data: {'))
            .map((event) => JSON.parse(event.slice('data: '.length)))
            .map(({ choices }) => choices?.[0]?.delta?.content ?? '')
            .join('');
          expect(sent).toBe(replaced(list.join('')));
        }),
        { numRuns: 100 },
      );
    },
  );
});
