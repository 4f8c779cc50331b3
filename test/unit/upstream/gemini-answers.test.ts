/** Verifies that answers and streams of Gemini become those of chats and back, wherever their bytes are cut. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../src/upstream/documents/document-node.ts';
import { translationFor } from '../../../src/upstream/formats/all-translations.ts';
import { EventList } from '../../../src/upstream/gemini/event-list.ts';
import { TranslatedEvents } from '../../../src/upstream/translation/translated-events.ts';
import type { Translation } from '../../../src/upstream/translation/translation.ts';

const toGemini = translationFor('/chat/completions', 'gemini')!;
const toChat = translationFor('/v1beta/models:generateContent', 'openai')!;
const about = { now: 1_000, wantsUsage: true };

const geminiEvents = [
  { candidates: [{ content: { parts: [{ text: 'thinking', thought: true }] }, index: 0 }] },
  { candidates: [{ content: { parts: [{ text: 'Zażółć ' }] }, index: 0 }] },
  { candidates: [{ content: { parts: [{ text: 'gęślą 👋' }] }, index: 0 }] },
  {
    candidates: [
      { content: { parts: [{ functionCall: { name: 'f', args: { a: 1 } } }] }, index: 0 },
    ],
  },
  {
    candidates: [{ content: { parts: [] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, thoughtsTokenCount: 5 },
    modelVersion: 'gemini',
    responseId: 'r',
  },
];
const bytesOf = (events: readonly object[], end = ''): Buffer =>
  Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join('') + end);

function translated(translation: Translation, bytes: Buffer, cuts: readonly number[]): string {
  const events = new TranslatedEvents(translation.events(about));
  let result = '';
  let from = 0;
  for (const cut of [
    ...cuts.map((one) => one % bytes.length).toSorted((a, b) => a - b),
    bytes.length,
  ]) {
    result += events.pass(bytes.subarray(from, cut)).toString();
    from = cut;
  }
  return result + events.rest().toString();
}

describe('a stream', () => {
  const chat = translated(toGemini, bytesOf(geminiEvents), []);

  it('has the same events wherever its bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 8 }), (cuts) => {
        expect(translated(toGemini, bytesOf(geminiEvents), cuts)).toBe(chat);
        const back = translated(toChat, Buffer.from(chat), []);
        expect(translated(toChat, Buffer.from(chat), cuts)).toBe(back);
      }),
    );
  });

  it('becomes chunks with text, reasoning, calls, usage and an end', () => {
    const chunks = chat
      .split('\n\n')
      .filter((one) => one.startsWith('data: {'))
      .map(
        (one) =>
          JSON.parse(one.slice(6)) as {
            choices: { delta: Json; finish_reason: unknown }[];
            usage: Json;
          },
      );
    const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
    expect(deltas.map(({ content }) => content ?? '').join('')).toBe('Zażółć gęślą 👋');
    expect(deltas.map((one) => one.reasoning_content ?? '').join('')).toBe('thinking');
    expect(chunks.at(-1)!.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 9 });
    expect(chunks.flatMap(({ choices }) => choices.map((one) => one.finish_reason)).at(-1)).toBe(
      'tool_calls',
    );
    expect(chat.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('is an error when it breaks off, never an end', () => {
    for (let count = 0; count < geminiEvents.length; count += 1) {
      const cut = translated(toGemini, bytesOf(geminiEvents.slice(0, count)), []);
      expect(cut).toContain('"error"');
      expect(cut).not.toContain('[DONE]');
    }
    const chunk = { id: 'c', model: 'm', choices: [{ index: 0, delta: { content: 'a' } }] };
    expect(translated(toChat, bytesOf([chunk]), [])).toContain('"error"');
  });

  it('is one JSON list with the same events wherever it is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 8 }), (cuts) => {
        const list = new EventList();
        const bytes = bytesOf(geminiEvents);
        let sent = '';
        let from = 0;
        for (const cut of [
          ...cuts.map((one) => one % bytes.length).toSorted((a, b) => a - b),
          bytes.length,
        ]) {
          sent += list.pass(bytes.subarray(from, cut)).toString();
          from = cut;
        }
        expect(JSON.parse(sent + list.rest().toString())).toEqual(geminiEvents);
      }),
    );
    expect(JSON.parse(new EventList().rest().toString())).toEqual([]);
  });
});

describe('an answer of Gemini', () => {
  const answer = (candidate: object, more: object = {}) =>
    toGemini.response({ candidates: [candidate], ...more }, about) as {
      choices: { message: Json; finish_reason: string }[];
    };

  it.each([
    ['STOP', 'stop', null],
    ['MAX_TOKENS', 'length', null],
    ['SAFETY', 'content_filter', null],
    ['RECITATION', 'content_filter', null],
    ['PROHIBITED_CONTENT', 'content_filter', null],
    [
      'MALFORMED_FUNCTION_CALL',
      'stop',
      'The provider ended its answer with MALFORMED_FUNCTION_CALL: bad',
    ],
    [
      'A_REASON_OF_THE_FUTURE',
      'stop',
      'The provider ended its answer with A_REASON_OF_THE_FUTURE: bad',
    ],
  ])('finishes, when it ends with %s, with %s', (finishReason, expected, refusal) => {
    const more = refusal === null ? {} : { finishMessage: 'bad' };
    const { finish_reason, message } = answer({ finishReason, ...more }).choices[0]!;
    expect([finish_reason, message.refusal]).toEqual([expected, refusal]);
  });

  it('is a refusal when the prompt is blocked', () => {
    const blocked = toGemini.response({ promptFeedback: { blockReason: 'SAFETY' } }, about);
    expect(blocked.choices).toMatchObject([
      {
        finish_reason: 'content_filter',
        message: { refusal: 'The provider blocked the prompt with SAFETY' },
      },
    ]);
    expect(() => toGemini.response({}, about)).toThrow('candidates must not be empty');
  });

  it('keeps log probabilities and pictures', () => {
    const step = { token: 'a', logProbability: -0.5 };
    const logprobsResult = { chosenCandidates: [step], topCandidates: [{ candidates: [step] }] };
    const parts = [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }];
    const [choice] = answer({ content: { parts }, logprobsResult }).choices;
    expect(choice).toMatchObject({
      message: { images: [{ image_url: { url: 'data:image/png;base64,AAAA' } }] },
      logprobs: { content: [{ token: 'a', logprob: -0.5, top_logprobs: [{ token: 'a' }] }] },
    });
  });
});
