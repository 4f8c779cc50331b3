/**
 * Checks that a stream is translated event by event, however it is split, and that a truncated one
 * never looks complete.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { translationFor } from '../../../src/upstream/formats/all-translations.ts';
import { TranslatedEvents } from '../../../src/upstream/translation/translated-events.ts';

type Event = Readonly<Record<string, unknown>>;

const about = { now: 1_700_000_000_000, wantsUsage: true };
const fromAnthropic = translationFor('/chat/completions', 'anthropic')!;
const fromOpenAi = translationFor('/messages', 'openai')!;

/** The bytes of an Anthropic stream, with line ends of one kind. */
function anthropicBytes(events: readonly Event[], lineEnd = '\n'): Buffer {
  const text = events.map(
    (event) => `event: ${event.type}${lineEnd}data: ${JSON.stringify(event)}${lineEnd}${lineEnd}`,
  );
  return Buffer.from(text.join(''));
}

function openAiBytes(events: readonly (Event | string)[], lineEnd = '\n'): Buffer {
  const text = events.map((event) => {
    const data = typeof event === 'string' ? event : JSON.stringify(event);
    return `data: ${data}${lineEnd}${lineEnd}`;
  });
  return Buffer.from(text.join(''));
}

/** The output for the caller when the bytes arrive in these pieces. */
function reported(events: TranslatedEvents, pieces: readonly Buffer[]): string {
  const parts = pieces.map((piece) => events.pass(piece));
  return Buffer.concat([...parts, events.rest()]).toString();
}

function toChat(bytes: Buffer, { wantsUsage = true } = {}): string {
  return reported(new TranslatedEvents(fromAnthropic.events({ ...about, wantsUsage })), [bytes]);
}

function toMessage(bytes: Buffer): string {
  return reported(new TranslatedEvents(fromOpenAi.events(about)), [bytes]);
}

/** The data of the events, without comments. */
function dataOf(stream: string): (Event | '[DONE]')[] {
  return stream
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => (line === 'data: [DONE]' ? '[DONE]' : (JSON.parse(line.slice(6)) as Event)));
}

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map((place) => place % bytes.length))].toSorted((a, b) => a - b);
  return [...ends, bytes.length].map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end));
}

const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [],
  usage: { input_tokens: 10, cache_read_input_tokens: 4, output_tokens: 1 },
};

const anthropicStream: readonly Event[] = [
  { type: 'message_start', message },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
  { type: 'ping' },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Łódź\r\n👋' } },
  { type: 'content_block_stop', index: 1 },
  {
    type: 'content_block_start',
    index: 2,
    content_block: { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
  },
  {
    type: 'content_block_delta',
    index: 2,
    delta: { type: 'input_json_delta', partial_json: '{"a":' },
  },
  {
    type: 'content_block_delta',
    index: 2,
    delta: { type: 'input_json_delta', partial_json: '"世"}' },
  },
  { type: 'content_block_stop', index: 2 },
  {
    type: 'content_block_start',
    index: 3,
    content_block: { type: 'tool_use', id: 'toolu_2', name: 'g', input: {} },
  },
  { type: 'content_block_stop', index: 3 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: { output_tokens: 7, cache_creation_input_tokens: null },
  },
  { type: 'message_stop' },
];

function chunk(delta: Event, finish: string | null = null): Event {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'gpt',
    choices: [{ index: 0, delta, finish_reason: finish }],
    usage: null,
  };
}

function callDelta(index: number, id: string | null, name: string | null, part: string): Event {
  const called = { ...(name === null ? {} : { name }), arguments: part };
  const call = { index, ...(id === null ? {} : { id, type: 'function' }), function: called };
  return chunk({ tool_calls: [call] });
}

const usage = {
  prompt_tokens: 14,
  completion_tokens: 7,
  total_tokens: 21,
  prompt_tokens_details: { cached_tokens: 4 },
};
const usageChunk = { ...chunk({}), choices: [], usage };

const openAiStream: readonly (Event | string)[] = [
  { ...chunk({}), choices: [], prompt_filter_results: [] },
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: 'Łódź\r\n👋' }),
  chunk({ content: '!' }),
  callDelta(0, 'call_1', 'f', ''),
  callDelta(0, null, null, '{"a":'),
  callDelta(0, null, null, '"世"}'),
  callDelta(1, 'call_2', 'g', '{}'),
  chunk({}, 'tool_calls'),
  usageChunk,
  '[DONE]',
];

describe('a stream of Anthropic for a client of OpenAI', () => {
  it('yields text, calls with their arguments, the stop reason, usage and [DONE]', () => {
    const data = dataOf(toChat(anthropicBytes(anthropicStream)));
    expect(data.at(-1)).toBe('[DONE]');
    const events = data.slice(0, -1) as Event[];
    for (const event of events) {
      expect(event).toMatchObject({ id: 'msg_1', model: 'claude', created: 1_700_000_000 });
    }
    expect(events.slice(0, -1).map(({ choices }) => (choices as Event[])[0])).toMatchObject([
      { delta: { role: 'assistant', content: '' } },
      { delta: { reasoning_content: 'hm', reasoning_details: [{ text: 'hm', index: 0 }] } },
      { delta: { content: 'Łódź\r\n👋' } },
      { delta: { tool_calls: [{ index: 0, id: 'toolu_1', function: { name: 'f' } }] } },
      { delta: { tool_calls: [{ index: 0, function: { arguments: '{"a":' } }] } },
      { delta: { tool_calls: [{ index: 0, function: { arguments: '"世"}' } }] } },
      { delta: { tool_calls: [{ index: 1, id: 'toolu_2', function: { name: 'g' } }] } },
      { delta: { tool_calls: [{ index: 1, function: { arguments: '{}' } }] } },
      { delta: {}, finish_reason: 'tool_calls' },
    ]);
    expect(events.at(-1)).toMatchObject({
      choices: [],
      usage: {
        prompt_tokens: 14,
        completion_tokens: 7,
        prompt_tokens_details: { cached_tokens: 4 },
      },
    });
  });

  it('yields no usage when none was requested', () => {
    const stream = toChat(anthropicBytes(anthropicStream), { wantsUsage: false });
    expect(stream).not.toContain('usage');
    expect(stream).toContain('data: [DONE]');
  });

  it('yields an error of the provider, and nothing after it', () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    const events = [anthropicStream[0]!, error, ...anthropicStream.slice(1)];
    const data = dataOf(toChat(anthropicBytes(events)));
    expect(data).toHaveLength(2);
    expect(data[1]).toMatchObject({ error: { message: 'Overloaded' } });
  });
});

describe('a stream of OpenAI for a client of Anthropic', () => {
  it('yields one block after the other, the stop reason and usage', () => {
    const events = dataOf(toMessage(openAiBytes(openAiStream)));
    expect(events).toMatchObject([
      { type: 'message_start', message: { id: 'chatcmpl-1', model: 'gpt', content: [] } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text' } },
      { type: 'content_block_delta', index: 0, delta: { text: 'Łódź\r\n👋' } },
      { type: 'content_block_delta', index: 0, delta: { text: '!' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { id: 'call_1', name: 'f' } },
      { type: 'content_block_delta', index: 1, delta: { partial_json: '{"a":' } },
      { type: 'content_block_delta', index: 1, delta: { partial_json: '"世"}' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'content_block_start', index: 2, content_block: { id: 'call_2', name: 'g' } },
      { type: 'content_block_delta', index: 2, delta: { partial_json: '{}' } },
      { type: 'content_block_stop', index: 2 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use' },
        usage: { input_tokens: 10, cache_read_input_tokens: 4, output_tokens: 7 },
      },
      { type: 'message_stop' },
    ]);
  });

  it('distinguishes calls by their ids where all have one index', () => {
    const events = dataOf(
      toMessage(
        openAiBytes([
          callDelta(0, 'call_1', 'f', '{}'),
          callDelta(0, 'call_2', 'g', '{}'),
          chunk({}, 'stop'),
          '[DONE]',
        ]),
      ),
    ) as Event[];
    const started = events.filter(({ type }) => type === 'content_block_start');
    expect(started).toMatchObject([
      { index: 0, content_block: { id: 'call_1' } },
      { index: 1, content_block: { id: 'call_2' } },
    ]);
    expect(events.at(-2)).toMatchObject({ delta: { stop_reason: 'tool_use' } });
  });

  it('ends where its provider omits the final event', () => {
    const stream = toMessage(openAiBytes([chunk({ content: 'a' }), chunk({}, 'length')]));
    expect(dataOf(stream).slice(-2)).toMatchObject([
      { type: 'message_delta', delta: { stop_reason: 'max_tokens' } },
      { type: 'message_stop' },
    ]);
  });
});

describe.each([
  [
    'of Anthropic',
    fromAnthropic,
    '"type":"message_stop"',
    (lineEnd: string) => anthropicBytes(anthropicStream, lineEnd),
  ],
  [
    'of OpenAI',
    fromOpenAi,
    '"finish_reason":"tool_calls"',
    (lineEnd: string) => openAiBytes(openAiStream, lineEnd),
  ],
] as const)('a stream %s', (_, translation, ending, bytesWith) => {
  const whole = reported(new TranslatedEvents(translation.events(about)), [bytesWith('\n')]);

  it('yields the same output for any split and any line ends', () => {
    const lineEnds = fc.constantFrom('\n', '\r\n', '\r');
    fc.assert(
      fc.property(lineEnds, fc.array(fc.nat()), (lineEnd, places) => {
        const events = new TranslatedEvents(translation.events(about));
        expect(reported(events, cut(bytesWith(lineEnd), places))).toBe(whole);
      }),
    );
    for (const lineEnd of ['\n', '\r\n', '\r']) {
      const bytes = bytesWith(lineEnd);
      const single = Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1));
      expect(reported(new TranslatedEvents(translation.events(about)), single)).toBe(whole);
    }
  });

  it('ends with an error when it breaks off anywhere', () => {
    const bytes = bytesWith('\n');
    const isBroken = (length: number): boolean => {
      const events = new TranslatedEvents(translation.events(about));
      const stream = reported(events, [bytes.subarray(0, length)]);
      const last = dataOf(stream).at(-1) as Event;
      return last.error !== undefined && !stream.includes('[DONE]');
    };
    // Before that position the end of the response cannot be known.
    const end = bytes.indexOf(ending);
    expect(end).toBeGreaterThan(0);
    for (let length = 0; length < end; length += 7) expect(isBroken(length)).toBe(true);
  });

  it('ends with a precise error for an event that is not JSON or not of its format', () => {
    for (const event of ['{"type":', '[]', '7', 'null']) {
      const events = new TranslatedEvents(translation.events(about));
      const stream = reported(events, [Buffer.from(`data: ${event}\n\n`), bytesWith('\n')]);
      const data = dataOf(stream) as Event[];
      expect(data).toHaveLength(1);
      expect(JSON.stringify(data[0])).toContain('The provider has sent what it must not');
    }
  });

  it('ends with an error in bounded memory when an event never ends', () => {
    const events = new TranslatedEvents(translation.events(about));
    const piece = Buffer.alloc(1024 * 1024, 'a');
    const parts = ['data: ', piece, piece, piece, piece, piece].map((part) =>
      events.pass(Buffer.from(part)),
    );
    expect(Buffer.concat(parts).toString()).toContain('more than 4194304 characters');
    expect(events.rest()).toHaveLength(0);
  });
});
