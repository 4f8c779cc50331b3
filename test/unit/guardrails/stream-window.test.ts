/**
 * Tests streams that are judged in windows against the judgement of the whole text, in every format and for random
 * divisions into events and chunks.
 */
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { evaluateGuardrails } from '../../../src/guardrails/evaluate.ts';
import { buildGuardrail, type Guardrail } from '../../../src/guardrails/guardrail.ts';
import { Searches } from '../../../src/guardrails/searches.ts';
import { StreamWindow } from '../../../src/guardrails/texts/stream-window.ts';
import { windowFaults } from '../../../src/model/guardrails/stream-windows.ts';
import { longestMatchBytes } from '../../../src/model/patterns/pattern-length.ts';
import { Origins } from '../../../src/upstream/origins.ts';
import { Outbound } from '../../../src/upstream/outbound.ts';

const searches = new Searches();
const origins = new Origins([]);
const tools = { searches, outbound: new Outbound(origins, []) };
afterAll(async () => {
  searches[Symbol.dispose]();
  await origins[Symbol.asyncDispose]();
});

const sse = (data: object | string) =>
  `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;

/** The events of one text in pieces, and the text in an event that was sent. */
interface Format {
  readonly events: (pieces: readonly string[]) => string[];
  readonly textIn: (event: ReturnType<typeof JSON.parse>) => string | undefined;
}

const formats: Readonly<Record<string, Format>> = {
  chat_completions: {
    events: (pieces) => [
      sse({ choices: [{ index: 0, delta: { role: 'assistant' } }] }),
      ...pieces.map((content) => sse({ choices: [{ index: 0, delta: { content } }] })),
      sse({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
      sse('[DONE]'),
    ],
    textIn: ({ choices }) => choices?.[0]?.delta?.content,
  },
  completions: {
    events: (pieces) => pieces.map((text) => sse({ choices: [{ index: 0, text }] })),
    textIn: ({ choices }) => choices?.[0]?.text,
  },
  messages: {
    events: (pieces) => [
      sse({ type: 'message_start', message: { id: 'm', content: [] } }),
      sse({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
      ...pieces.map((text) =>
        sse({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
      ),
      sse({ type: 'ping' }),
      sse({ type: 'content_block_stop', index: 0 }),
      sse({ type: 'message_stop' }),
    ],
    textIn: ({ delta }) => delta?.text,
  },
  responses: {
    events: (pieces) => [
      ...pieces.map((delta) =>
        sse({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta }),
      ),
      sse({ type: 'response.output_text.done', output_index: 0, text: pieces.join('') }),
    ],
    textIn: ({ delta }) => delta,
  },
  gemini: {
    events: (pieces) =>
      pieces.map((text) => sse({ candidates: [{ index: 0, content: { parts: [{ text }] } }] })),
    textIn: ({ candidates }) => candidates?.[0]?.content?.parts?.[0]?.text,
  },
  converse: {
    events: (pieces) => [
      ...pieces.map((text) =>
        sse({ contentBlockDelta: { contentBlockIndex: 0, delta: { text } } }),
      ),
      sse({ contentBlockStop: { contentBlockIndex: 0 } }),
    ],
    textIn: ({ contentBlockDelta }) => contentBlockDelta?.delta?.text,
  },
};

const about = {
  side: 'output' as const,
  endpoint: 'chat_completions',
  isStream: true,
  params: {},
  answer: { status: 200, json: {} },
  unreadable: null,
  metadata: {},
  headers: {},
  provider: 'p',
  model: 'm',
  traceId: 't',
  lastCount: 1,
  needsEdits: true,
};

function guardrailOf(checks: readonly { id: string; parameters: object }[]): Guardrail {
  const definition = { id: 'one', savedId: null, actions: { deny: true, sequential: true } };
  return buildGuardrail({ ...definition, checks: checks as [] }, tools);
}

interface SentStream {
  readonly sent: string;
  readonly stop: string | null;
  /** Characters that had arrived when the first text was sent; null if none was. */
  readonly firstAt: number | null;
}

async function judgeStream(
  form: string,
  guardrail: Guardrail,
  chunks: readonly Buffer[],
  size: { readonly windowBytes: number; readonly holdBytes: number },
): Promise<SentStream> {
  const window = new StreamWindow({
    form: form as 'messages',
    ...size,
    judge: async ({ text, isAside }) => {
      const passages = [{ path: ['text'], text, isAside }];
      const judgement = await evaluateGuardrails([guardrail], { ...about, passages }, 0);
      const stages = judgement.stages.map((stage) => stage?.[0] ?? null);
      return {
        isDenied: judgement.isDenied,
        text: judgement.passages[0]!.text,
        stages: stages.every((stage) => stage !== null) ? stages : null,
      };
    },
  });
  let sent = '';
  let arrived = '';
  let firstAt: number | null = null;
  for (const chunk of chunks) {
    arrived += chunk.toString('latin1');
    sent += (await window.pass(chunk)).toString('utf8');
    if (firstAt === null && textOf(form, sent) !== '') firstAt = textOf(form, arrived).length;
    if (window.stop !== null) return { sent, stop: window.stop, firstAt };
  }
  sent += (await window.rest()).toString('utf8');
  return { sent, stop: window.stop, firstAt };
}

function textOf(form: string, events: string): string {
  return events
    .split(/\r?\n\r?\n/)
    .slice(0, -1)
    .filter((event) => event.startsWith('data: {'))
    .map((event) => formats[form]!.textIn(JSON.parse(event.slice('data: '.length))) ?? '')
    .join('');
}

/** Texts that often contain what the checks search, at borders of words too. */
const words = fc.constantFrom('ab', 'abc', 'aab', 'x', ' ', 'secret', 'sec', 'é', '😀', '\n', 'b.');
const texts = fc.array(words, { maxLength: 200 }).map((list) => list.join(''));
const cuts = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 20 });

function divided<T extends string | Buffer>(whole: T, lengths: readonly number[]): T[] {
  const parts: T[] = [];
  for (let at = 0, index = 0; at < whole.length; index += 1) {
    const length = lengths[index % lengths.length]!;
    parts.push(whole.slice(at, at + length) as T);
    at += length;
  }
  return parts;
}

/** Pieces do not divide characters, as those of providers do not. */
function piecesOf(text: string, lengths: readonly number[]): string[] {
  return chunked([...text], lengths).map((list) => list.join(''));
}

function chunked(list: readonly string[], lengths: readonly number[]): string[][] {
  const parts: string[][] = [];
  for (let at = 0, index = 0; at < list.length; index += 1) {
    const length = lengths[index % lengths.length]!;
    parts.push(list.slice(at, at + length));
    at += length;
  }
  return parts;
}

const replacing = [
  { id: 'default.regexReplace', parameters: { rule: 'a{1,2}b', redactText: 'ab' } },
  { id: 'default.regexReplace', parameters: { rule: '(?:é| ){2,3}', redactText: 'a' } },
  { id: 'default.regexReplace', parameters: { rule: 'b[. \\n]{1,3}x?\\b', redactText: '[x] ' } },
];
const size = { windowBytes: 100, holdBytes: 44 };

describe.each(Object.keys(formats))('a window of a stream of %s', (form) => {
  it('replaces exactly what is replaced in the whole text', async () => {
    const guardrail = guardrailOf(replacing);
    await fc.assert(
      fc.asyncProperty(texts, cuts, cuts, async (text, pieceLengths, chunkLengths) => {
        const passages = [{ path: ['text'], text }];
        const whole = await evaluateGuardrails([guardrail], { ...about, passages }, 0);
        const events = formats[form]!.events(piecesOf(text, pieceLengths)).join('');
        const chunks = divided(
          Buffer.from(events),
          chunkLengths.map((length) => length * 37),
        );
        const { sent, stop } = await judgeStream(form, guardrail, chunks, size);
        expect(stop).toBeNull();
        expect(textOf(form, sent)).toBe(whole.passages[0]!.text);
      }),
      { numRuns: 60 },
    );
  });

  it('sends no part of what is denied', async () => {
    const parameters = { rule: '\\bx[ .]{1,2}sec\\b', not: true };
    const guardrail = guardrailOf([{ id: 'default.regexMatch', parameters }]);
    await fc.assert(
      fc.asyncProperty(texts, cuts, cuts, async (text, pieceLengths, chunkLengths) => {
        const isDenied = /(?<![0-9A-Za-z_])x[ .]{1,2}sec(?![0-9A-Za-z_])/.exec(text);
        const events = formats[form]!.events(piecesOf(text, pieceLengths)).join('');
        const chunks = divided(
          Buffer.from(events),
          chunkLengths.map((length) => length * 37),
        );
        const { sent, stop } = await judgeStream(form, guardrail, chunks, size);
        expect(stop).toBe(isDenied === null ? null : 'denied');
        const sentText = textOf(form, sent);
        expect(text.startsWith(sentText)).toBe(true);
        expect(sentText.length).toBeLessThanOrEqual(isDenied?.index ?? text.length);
      }),
      { numRuns: 60 },
    );
  });

  it('sends the first text before more than one window has arrived', async () => {
    const guardrail = guardrailOf([
      { id: 'default.contains', parameters: { words: ['none'], operator: 'none' } },
    ]);
    const pieces = Array.from({ length: 200 }, () => 'a b ');
    const chunks = formats[form]!.events(pieces).map((event) => Buffer.from(event));
    const { firstAt } = await judgeStream(form, guardrail, chunks, size);
    expect(firstAt).not.toBeNull();
    expect(firstAt!).toBeLessThanOrEqual(size.windowBytes);
  });
});

describe('a window', () => {
  it('stops at an event that cannot be read', async () => {
    const guardrail = guardrailOf(replacing);
    const chunks = [Buffer.from('data: {"choices"\n\n')];
    expect(await judgeStream('chat_completions', guardrail, chunks, size)).toMatchObject({
      sent: '',
      stop: 'unreadable',
    });
  });

  it('is refused for checks that need the whole text, and with too little overlap', () => {
    const stream = { window: { bytes: 256, overlap: 40 } };
    const faults = (id: string, parameters: object, more: object = stream) =>
      windowFaults([{ id, parameters: parameters as Record<string, unknown> }], more)[0]?.path;
    expect(faults('default.wordCount', {})).toEqual(['actions', 'stream', 'window']);
    expect(faults('default.regexMatch', { rule: 'a+', not: true })).toEqual([
      'actions',
      'stream',
      'window',
    ]);
    expect(faults('default.regexMatch', { rule: 'a{20}', not: true })).toEqual([
      'actions',
      'stream',
      'window',
      'overlap',
    ]);
    expect(faults('default.contains', { words: ['a'], operator: 'none' })).toBeUndefined();
    expect(
      faults(
        'default.contains',
        { words: ['a'], operator: 'none' },
        { window: { bytes: 64, overlap: 40 } },
      ),
    ).toEqual(['actions', 'stream', 'window', 'bytes']);
  });

  it.each([
    ['abc', 12],
    ['a|bcd', 12],
    ['(ab){2,3}c?', 28],
    ['[^\\]a-z[:alpha:]]{4}', 16],
    ['\\bsec(?:ret)?\\b', 24],
    ['\\p{L}\\x{1F600}\\d', 12],
    ['(?i)abc', 12],
    ['a*', null],
    ['a+', null],
    ['a{2,}', null],
    ['^abc', null],
    ['abc$', null],
    ['a\\Bb', null],
    ['a?', null],
    ['(?-i:a)', null],
    ['a{9000,9001}b{9000}', null],
  ])('knows that %j matches at most %j bytes', (pattern, bytes) => {
    expect(longestMatchBytes(pattern)).toBe(bytes);
  });
});
