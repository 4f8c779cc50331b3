/** Checks that streamed tool calls are assembled correctly, however a provider marks the pieces. */
import { describe, expect, it } from 'vitest';
import { parseTurn, TurnAssembler } from '../../../src/objects/runs/model-turn.ts';
import { translationFor } from '../../../src/upstream/formats/all-translations.ts';
import { TranslatedEvents } from '../../../src/upstream/translation/translated-events.ts';

type Json = Readonly<Record<string, unknown>>;
type ResponseEvent = Json & { type: string; output_index: number; item: Json; delta: string };

const piece = (index: number | null, id: string | null, name: string | null, text?: string) => ({
  ...(index === null ? {} : { index }),
  ...(id === null ? {} : { id, type: 'function' }),
  function: {
    ...(name === null ? {} : { name }),
    ...(text === undefined ? {} : { arguments: text }),
  },
});
type Piece = ReturnType<typeof piece>;

const chunksOf = (deltas: readonly (readonly Piece[] | string)[]): string[] => [
  ...deltas.map((one) => {
    const delta = typeof one === 'string' ? { content: one } : { tool_calls: one };
    return JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] });
  }),
  JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }),
  '[DONE]',
];

/** The calls as events of a response. */
function eventsOf(deltas: readonly (readonly Piece[] | string)[]): ResponseEvent[] {
  const response = {
    id: 'resp_1',
    createdAt: 0,
    conversationId: null,
    request: { model: 'm', input: 'x' },
  };
  const translation = translationFor('/responses', 'openai', false)!;
  const about = { now: 0, wantsUsage: true, response };
  const events = new TranslatedEvents(translation.events(about));
  const bytes = chunksOf(deltas).map((data) => Buffer.from(`data: ${data}\n\n`));
  const text = Buffer.concat([...bytes.map((one) => events.pass(one)), events.rest()]).toString();
  const lines = text.split('\n').filter((line) => line.startsWith('data: '));
  return lines.map((line) => JSON.parse(line.slice(6)) as ResponseEvent);
}

const callsIn = (output: unknown) =>
  (output as Json[])
    .filter(({ type }) => type === 'function_call')
    .map(({ call_id, name, arguments: stated }) => [call_id, name, stated]);

/** The view of a client that joins deltas by the index of their item. */
function assembled(events: readonly ResponseEvent[]): string[] {
  const texts: string[] = [];
  for (const { type, output_index: at, delta } of events) {
    if (type === 'response.output_item.added') texts[at] = '';
    if (type === 'response.function_call_arguments.delta') texts[at] += delta;
  }
  return texts;
}

/** The calls as a run records them. */
function turnOf(deltas: readonly (readonly Piece[] | string)[]) {
  const parts = new TurnAssembler();
  for (const data of chunksOf(deltas)) parts.addEvent(data);
  expect(parts.fault).toBeNull();
  return parts
    .turn()
    .calls.map(({ id, function: { name, arguments: stated } }) => [id, name, stated]);
}

const one = ['a', 'look', '{"at":1}'];
const two = ['b', 'find', '{"at":2}'];
/** Two calls, as providers stream them. */
const ways: Record<string, readonly (readonly Piece[])[]> = {
  'one after the other': [
    [piece(0, 'a', 'look', '')],
    [piece(0, null, null, '{"at":')],
    [piece(0, null, null, '1}')],
    [piece(1, 'b', 'find', '')],
    [piece(1, null, null, '{"at":2}')],
  ],
  'in turns': [
    [piece(0, 'a', 'look', '')],
    [piece(1, 'b', 'find', '')],
    [piece(0, null, null, '{"at"')],
    [piece(1, null, null, '{"at":')],
    [piece(0, null, null, ':1}')],
    [piece(1, null, null, '2}')],
  ],
  'in turns within chunks': [
    [piece(0, 'a', 'look', '{"a'), piece(1, 'b', 'find', '{"at"')],
    [piece(1, null, null, ':2}'), piece(0, null, null, 't":1}')],
  ],
  'whole in one chunk': [[piece(0, 'a', 'look', '{"at":1}'), piece(1, 'b', 'find', '{"at":2}')]],
  'whole, without an index': [
    [piece(null, 'a', 'look', '{"at":1}')],
    [piece(null, 'b', 'find', '{"at":2}')],
  ],
  'whole in one chunk, without an index': [
    [piece(null, 'a', 'look', '{"at":1}'), piece(null, 'b', 'find', '{"at":2}')],
  ],
  'under one index': [
    [piece(0, 'a', 'look', '{"at":')],
    [piece(0, null, null, '1}')],
    [piece(0, 'b', 'find', '{"at"')],
    [piece(0, null, null, ':2}')],
  ],
  'without an index, piece by piece': [
    [piece(null, 'a', 'look')],
    [piece(null, null, null, '{"at":1}')],
    [piece(null, 'b', 'find')],
    [piece(null, 'b', null, '{"at":2}')],
  ],
  'with name and id in each piece': [
    [piece(0, 'a', 'look', '{"at":')],
    [piece(1, 'b', 'find', '{"at"')],
    [piece(0, 'a', 'look', '1}')],
    [piece(1, 'b', 'find', ':2}')],
  ],
  'with another id in each piece': [
    [piece(0, 'a', 'look', '')],
    [piece(0, 'x', null, '{"at":1}')],
    [piece(1, 'b', 'find', '')],
    [piece(1, 'y', null, '{"at":2}')],
  ],
};

describe.each(Object.entries(ways))('two calls %s', (_, deltas) => {
  it('yields two items of a response, each with its own arguments', () => {
    const events = eventsOf(deltas);
    const last = events.at(-1) as unknown as { type: string; response: { output: unknown } };
    expect(last.type).toBe('response.completed');
    expect(callsIn(last.response.output)).toEqual([one, two]);
    expect(assembled(events)).toEqual([one[2], two[2]]);
    const done = events.filter(({ type }) => type === 'response.output_item.done');
    expect(callsIn(done.map(({ item }) => item))).toEqual([one, two]);
  });

  it('yields the calls of a run', () => {
    expect(turnOf(deltas)).toEqual([one, two]);
  });
});

it('ends a complete call before the next begins, for models without turns', () => {
  const types = eventsOf(ways['one after the other']!).map(({ type }) => type.slice(9));
  const call = ['output_item.added', 'function_call_arguments.delta'];
  const done = ['function_call_arguments.done', 'output_item.done'];
  expect(types).toEqual([
    'created',
    'in_progress',
    ...call,
    'function_call_arguments.delta',
    ...done,
    ...call,
    ...done,
    'completed',
  ]);
});

it('distinguishes calls without ids, and places text between them', () => {
  const deltas = [
    'first',
    [piece(0, null, 'look', '{"at":1')],
    [piece(1, null, 'look', '{}')],
    'then',
    [piece(0, null, null, '}')],
  ];
  const events = eventsOf(deltas);
  const { response } = events.at(-1) as unknown as { response: { output: Json[] } };
  expect(response.output.map(({ type }) => type)).toEqual([
    'message',
    'function_call',
    'function_call',
    'message',
  ]);
  const calls = callsIn(response.output);
  expect(calls.map(([, ...rest]) => rest)).toEqual([
    ['look', '{"at":1}'],
    ['look', '{}'],
  ]);
  expect(new Set(calls.map(([id]) => id)).size).toBe(2);
  const ended = events.filter(({ type }) => type === 'response.output_item.done');
  expect(ended.map(({ output_index: at }) => at).toSorted()).toEqual([0, 1, 2, 3]);
  const again = turnOf([[piece(null, null, 'look', '{"at":1}'), piece(null, null, 'look', '{}')]]);
  expect(again.map(([, ...rest]) => rest)).toEqual([
    ['look', '{"at":1}'],
    ['look', '{}'],
  ]);
});

it('joins a name that arrives in pieces', () => {
  const deltas = [
    [piece(0, 'a', 'lo')],
    [piece(0, null, 'ok')],
    [piece(0, null, null, '{"at":1}')],
  ];
  expect(turnOf(deltas)).toEqual([one]);
});

it('throws when an ended call continues', () => {
  const deltas = [...ways['one after the other']!, [piece(0, null, null, '{"at":3}')]];
  const last = eventsOf(deltas).at(-1) as unknown as { type: string; response: Json };
  expect(last.type).toBe('response.failed');
  expect(JSON.stringify(last.response)).toContain('goes back to a call that has ended');
});

it('contains each call of a complete response, also under one id', () => {
  const tool_calls = [piece(null, 'a', 'look', '{}'), piece(null, 'a', 'look', '{}')];
  const turn = parseTurn({ choices: [{ message: { content: null, tool_calls } }] })!;
  expect(turn.calls).toHaveLength(2);
  expect(new Set(turn.calls.map(({ id }) => id)).size).toBe(2);
});

describe('a call in a whole answer for a client of messages', () => {
  it.each([
    ['without an id', { function: { name: 'f', arguments: '{"a":1}' } }, 'c_0', { a: 1 }],
    [
      'with an object as arguments',
      { id: 'x', function: { name: 'f', arguments: { a: 1 } } },
      'x',
      { a: 1 },
    ],
    ['without arguments', { id: 'x', function: { name: 'f' } }, 'x', {}],
  ])('becomes a block %s', (_, call, id, input) => {
    const message = { role: 'assistant', content: null, tool_calls: [call] };
    const chat = { id: 'c', model: 'm', choices: [{ message, finish_reason: 'tool_calls' }] };
    const about = { now: 0, wantsUsage: false };
    const { content } = translationFor('/messages', 'openai')!.response(chat, about);
    expect(content).toEqual([{ type: 'tool_use', id, name: 'f', input }]);
  });
});
