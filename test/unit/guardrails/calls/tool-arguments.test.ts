/** Tests the rules on calls of tools: in every format, as a whole and in the pieces of a stream. */
import { afterAll, describe, expect, it } from 'vitest';
import { toolCallsIn } from '../../../../src/guardrails/calls/tool-calls.ts';
import { evaluateGuardrails } from '../../../../src/guardrails/evaluate.ts';
import { buildGuardrail, readInlineGuardrail } from '../../../../src/guardrails/guardrail.ts';
import { Searches } from '../../../../src/guardrails/searches.ts';
import { streamAnswer } from '../../../../src/guardrails/texts/stream-answer.ts';
import { parseJsonPath, valuesAtPath } from '../../../../src/model/json/json-path.ts';
import { Origins } from '../../../../src/upstream/origins.ts';
import { Outbound } from '../../../../src/upstream/outbound.ts';

const searches = new Searches();
const origins = new Origins([]);
const tools = { searches, outbound: new Outbound(origins, []) };
afterAll(async () => {
  searches[Symbol.dispose]();
  await origins[Symbol.asyncDispose]();
});

const written = '{"path":"/etc/passwd"}';
const read = { path: '/etc/passwd' };
const expected = [{ tool: 'read_file', input: expect.anything() }];

const wholes: Readonly<Record<string, object>> = {
  chat: {
    choices: [
      {
        message: {
          content: null,
          tool_calls: [{ type: 'function', function: { name: 'read_file', arguments: written } }],
        },
      },
    ],
  },
  'an older chat': {
    choices: [{ message: { function_call: { name: 'read_file', arguments: written } } }],
  },
  messages: { content: [{ type: 'text' }, { type: 'tool_use', name: 'read_file', input: read }] },
  responses: { output: [{ type: 'function_call', name: 'read_file', arguments: written }] },
  'custom tools': { output: [{ type: 'custom_tool_call', name: 'read_file', input: written }] },
  'a custom tool of a chat': {
    choices: [
      {
        message: {
          tool_calls: [{ type: 'custom', custom: { name: 'read_file', input: written } }],
        },
      },
    ],
  },
  gemini: {
    candidates: [{ content: { parts: [{ functionCall: { name: 'read_file', args: read } }] } }],
  },
  converse: {
    output: { message: { content: [{ toolUse: { name: 'read_file', input: read } }] } },
  },
  'the first version of Cohere': { tool_calls: [{ name: 'read_file', parameters: read }] },
};

const pieces = ['{"path":"/e', 'tc/pass', 'wd"}'];
const data = (event: object) => `data: ${JSON.stringify(event)}\n\n`;
const chatCall = (index: number, called: object) =>
  data({ choices: [{ index: 0, delta: { tool_calls: [{ index, function: called }] } }] });

const streams = {
  chat_completions: [
    chatCall(0, { name: 'read_file', arguments: '' }),
    ...pieces.map((piece) => chatCall(0, { arguments: piece })),
  ],
  messages: [
    data({
      type: 'content_block_start',
      index: 1,
      content_block: { type: 'tool_use', name: 'read_file', input: {} },
    }),
    ...pieces.map((partial_json) =>
      data({ type: 'content_block_delta', index: 1, delta: { partial_json } }),
    ),
  ],
  responses: [
    data({
      type: 'response.output_item.done',
      item: { type: 'function_call', name: 'read_file', arguments: written },
    }),
  ],
  gemini: [data(wholes.gemini!)],
  converse: [
    data({
      contentBlockStart: { contentBlockIndex: 0, start: { toolUse: { name: 'read_file' } } },
    }),
    ...pieces.map((input) =>
      data({ contentBlockDelta: { contentBlockIndex: 0, delta: { toolUse: { input } } } }),
    ),
  ],
} as const;

const about = {
  isStream: false,
  params: {},
  unreadable: null,
  metadata: {},
  headers: {},
  provider: 'p',
  model: 'm',
  traceId: 't',
  passages: [],
  lastCount: 0,
};

async function verdict(parameters: object, answer: object | null, more: object = {}) {
  const item = { 'gatewright.toolArguments': parameters, deny: true };
  const guardrail = buildGuardrail(readInlineGuardrail(item, 'one'), tools);
  const subject = {
    ...about,
    side: answer === null ? ('input' as const) : ('output' as const),
    endpoint: 'chat_completions',
    answer: answer === null ? null : { status: 200, json: answer },
    ...more,
  };
  const { results } = await evaluateGuardrails([guardrail], subject, 0);
  const { verdict: passes, error } = results[0]!.checks[0]!;
  return error === undefined ? passes : 'unjudged';
}

const safe = { rules: [{ tools: ['read_*'], path: '$.path', allow: ['^/srv/'] }] };

describe('gatewright.toolArguments', () => {
  it.each(Object.entries(wholes))('finds and judges calls in %s', async (_, body) => {
    expect(toolCallsIn(body)).toEqual(expected);
    expect(await verdict(safe, body)).toBe(false);
    expect(await verdict({ blockedTools: ['read_file'] }, body)).toBe(false);
    expect(await verdict({ allowedTools: ['write_*'] }, body)).toBe(false);
    const allowing = { rules: [{ path: '$.path', allow: ['passwd$'], deny: ['shadow'] }] };
    expect(await verdict(allowing, body)).toBe(true);
    expect(await verdict(safe, null, { params: body })).toBe(false);
  });

  it.each(Object.entries(streams))(
    'joins the pieces of calls in streams of %s',
    async (form, events) => {
      const { toolCalls } = streamAnswer(form as 'messages', Buffer.from(events.join('')));
      expect(toolCalls().map(({ tool }) => tool)).toEqual(['read_file']);
      expect(await verdict(safe, {}, { toolCalls })).toBe(false);
      const allowing = { rules: [{ path: '$.path', allow: ['^/etc/passwd$'] }] };
      expect(await verdict(allowing, {}, { toolCalls })).toBe(true);
    },
  );

  it('judges tools/call of MCP', async () => {
    const call = { endpoint: 'tools/call', model: 'read_file', params: { arguments: read } };
    expect(await verdict(safe, null, call)).toBe(false);
    expect(await verdict({ rules: [{ path: '$.path', deny: ['shadow'] }] }, null, call)).toBe(true);
    expect(await verdict({ rules: [{ path: '$.path' }] }, null, call)).toBe(false);
    expect(await verdict({ rules: [{ path: '$.user', required: true }] }, null, call)).toBe(false);
  });

  it('finds a call without arguments', async () => {
    const called = { type: 'function', function: { name: 'read_file' } };
    const answer = { choices: [{ message: { tool_calls: [called] } }] };
    expect(toolCallsIn(answer)).toEqual([{ tool: 'read_file', input: undefined }]);
    expect(await verdict({ blockedTools: ['read_file'] }, answer)).toBe(false);
  });

  const item = { id: 'i', type: 'function_call', name: 'read_file', arguments: '' };
  it.each<[string, string, string[]]>([
    [
      'arguments that are no text',
      'chat_completions',
      [chatCall(0, { name: 'read_file', arguments: read })],
    ],
    [
      'a name that is repeated',
      'chat_completions',
      [chatCall(0, { name: 'read_file' }), chatCall(0, { name: 'read_file', arguments: written })],
    ],
    [
      'a name that another one precedes',
      'chat_completions',
      [chatCall(0, { name: 'other' }), chatCall(0, { name: 'read_file', arguments: written })],
    ],
    [
      'arguments at the start and in pieces',
      'messages',
      [
        data({
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'tool_use', name: 'read_file', input: read },
        }),
        data({ type: 'content_block_delta', index: 0, delta: { partial_json: '{}' } }),
      ],
    ],
    [
      'an item that never ends',
      'responses',
      [
        data({ type: 'response.output_item.added', output_index: 0, item }),
        ...pieces.map((delta) =>
          data({
            type: 'response.function_call_arguments.delta',
            output_index: 0,
            item_id: 'i',
            delta,
          }),
        ),
      ],
    ],
    [
      'an item whose end says something else',
      'responses',
      [
        data({ type: 'response.output_item.added', output_index: 0, item }),
        data({
          type: 'response.function_call_arguments.done',
          output_index: 0,
          item_id: 'i',
          arguments: written,
        }),
        data({
          type: 'response.output_item.done',
          output_index: 0,
          item: { ...item, arguments: '{"path":"/srv/a"}' },
        }),
      ],
    ],
    [
      'pieces of Cohere',
      'unknown',
      [
        data({
          type: 'tool-call-start',
          index: 0,
          delta: { message: { tool_calls: { function: { name: 'read_file', arguments: '' } } } },
        }),
        ...pieces.map((piece) =>
          data({
            type: 'tool-call-delta',
            index: 0,
            delta: { message: { tool_calls: { function: { arguments: piece } } } },
          }),
        ),
      ],
    ],
    [
      'the steps of a run',
      'responses',
      [{ name: 'read_file', arguments: '' }, ...pieces.map((piece) => ({ arguments: piece }))].map(
        (called) =>
          data({
            id: 's',
            object: 'thread.run.step.delta',
            delta: {
              step_details: { type: 'tool_calls', tool_calls: [{ index: 0, function: called }] },
            },
          }),
      ),
    ],
  ])('judges in a stream %s', async (_, form, events) => {
    const { toolCalls } = streamAnswer(form as 'messages', Buffer.from(events.join('')));
    expect(await verdict(safe, {}, { toolCalls })).toBe(false);
    expect(await verdict({ blockedTools: ['read_file'] }, {}, { toolCalls })).toBe(false);
  });

  it('lets an item pass whose arguments follow its announcement', async () => {
    const events = [
      data({ type: 'response.output_item.added', output_index: 0, item }),
      data({
        type: 'response.output_item.done',
        output_index: 0,
        item: { ...item, arguments: written },
      }),
    ];
    const { toolCalls } = streamAnswer('responses', Buffer.from(events.join('')));
    const rules = [{ path: '$.path', allow: ['passwd'], required: true }];
    expect(await verdict({ rules }, {}, { toolCalls })).toBe(true);
  });

  it.each([
    ['no JSON', '{"path":"/srv/'],
    ['a list', '["/etc/passwd"]'],
    ['a repeated member', '{"path":"/srv/a","path":"/etc/passwd"}'],
    ['a repeated member that is escaped', '{"path":"/srv/a","p\\u0061th":"/srv/b"}'],
  ])('cannot judge arguments that are %s', async (_, input) => {
    const output = [{ type: 'function_call', name: 'read_file', arguments: input }];
    expect(await verdict(safe, { output })).toBe('unjudged');
  });

  it('finds no calls where there are none', async () => {
    const request = {
      tools: [{ type: 'function', function: { name: 'read_file', parameters: {} } }],
      tool_choice: { type: 'function', function: { name: 'read_file' } },
      messages: [{ role: 'user', content: 'function_call' }],
    };
    expect(toolCallsIn(request)).toEqual([]);
    expect(await verdict(safe, null, { params: request })).toBe(true);
  });
});

describe('a path of JSON', () => {
  const document = { a: { b: [{ c: 1 }, { c: 2 }], 'x y': 3 }, c: 4 };
  it.each([
    ['$', [document]],
    ['$.a.b[0].c', [1]],
    ['$.a.b[-1].c', [2]],
    ['$.a.b[*].c', [1, 2]],
    ["$.a['x y']", [3]],
    ['$..c', [1, 2, 4]],
    ['$.none', []],
  ])('%s selects %j', (text, values) => {
    const found = valuesAtPath(document, parseJsonPath(text)!, 100)!;
    expect(found).toHaveLength(values.length);
    expect(found).toEqual(expect.arrayContaining(values as unknown[]));
  });

  it.each(['', 'a', '$.', '$[', '$[?@.a]', '$[0:1]', '$..', '$.a b', `$${'.a'.repeat(40)}`])(
    'refuses %j',
    (text) => {
      expect(parseJsonPath(text)).toBeNull();
    },
  );

  it('stops at too many values', () => {
    expect(valuesAtPath([1, 2, 3], parseJsonPath('$[*]')!, 2)).toBeNull();
  });
});
