/**
 * Verifies assistants, threads and runs with unmodified OpenAI clients: every state, every failure,
 * and two tenants.
 */
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { chatAnswer, sendJson, type TestUpstream } from '../../support/upstream/upstream.ts';

let inference: Inference;
let client: OpenAI;
let other: OpenAI;

const clientOf = async (more: object): Promise<OpenAI> => {
  const { server, addKey } = inference;
  const { key } = await addKey(more);
  const baseURL = `${server.inferenceUrl}/v1`;
  return new OpenAI({ apiKey: key, baseURL, maxRetries: 0, timeout: 600_000 });
};

beforeAll(async () => {
  inference = await startInference();
  const { server, upstream } = inference;
  const config = { provider: 'openai', api_key: 'any', custom_host: upstream.url };
  const made = await server.request('POST', '/v2/configs', { body: { name: 'all', config } });
  const defaults = { config_id: made.body.slug };
  client = await clientOf({ defaults });
  const workspace = await server.request('POST', '/v2/admin/workspaces', {
    body: { name: 'elsewhere' },
  });
  other = await clientOf({ defaults, workspace_id: workspace.body.id });
});

afterAll(async () => {
  await inference[Symbol.asyncDispose]();
});

beforeEach(() => {
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
  inference.upstream.reached.length = 0;
});

const weather = {
  type: 'function' as const,
  function: { name: 'weather', parameters: { type: 'object', properties: {} } },
};

const callsAnswer = (...ids: string[]) => ({
  ...chatAnswer,
  choices: [
    {
      index: 0,
      finish_reason: 'tool_calls',
      message: {
        role: 'assistant',
        content: null,
        tool_calls: ids.map((id) => ({
          id,
          type: 'function',
          function: { name: 'weather', arguments: '{}' },
        })),
      },
    },
  ],
});

describe('an OpenAI client', () => {
  it('creates, polls and reads a run', async () => {
    const { assistants, threads } = client.beta;
    const assistant = await assistants.create({ model: 'gpt-test', instructions: 'Be brief.' });
    const thread = await threads.create({ messages: [{ role: 'user', content: 'hello' }] });
    const run = await threads.runs.createAndPoll(
      thread.id,
      { assistant_id: assistant.id },
      { pollIntervalMs: 20 },
    );
    expect(run).toMatchObject({
      status: 'completed',
      model: 'gpt-test',
      last_error: null,
      usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
    });
    const { data } = await threads.messages.list(thread.id);
    expect(data.map(({ role }) => role)).toEqual(['assistant', 'user']);
    expect(data[0]!.content).toMatchObject([{ type: 'text', text: { value: 'hi' } }]);
    const steps = await threads.runs.steps.list(run.id, { thread_id: thread.id, order: 'asc' });
    expect(steps.data).toMatchObject([
      {
        object: 'thread.run.step',
        type: 'message_creation',
        status: 'completed',
        step_details: { message_creation: { message_id: data[0]!.id } },
      },
    ]);
    const [requested] = inference.upstream.reached;
    expect(JSON.parse(requested!.body.toString()).messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'hello' },
    ]);
  });

  it('executes functions that the model calls, and polls for the final text', async () => {
    const { assistants, threads } = client.beta;
    const answers = [callsAnswer('a', 'b'), chatAnswer];
    inference.upstream.script = (_, response) => sendJson(response, answers.shift());
    const { id } = await assistants.create({ model: 'gpt-test', tools: [weather] });
    const asking = await threads.createAndRunPoll(
      { assistant_id: id, thread: { messages: [{ role: 'user', content: 'rain?' }] } },
      { pollIntervalMs: 20 },
    );
    expect(asking.status).toBe('requires_action');
    const calls = asking.required_action!.submit_tool_outputs.tool_calls;
    expect(calls.map((call) => call.id)).toEqual(['a', 'b']);
    const run = await threads.runs.submitToolOutputsAndPoll(
      asking.id,
      {
        thread_id: asking.thread_id,
        tool_outputs: calls.map((call) => ({ tool_call_id: call.id, output: `yes ${call.id}` })),
      },
      { pollIntervalMs: 20 },
    );
    expect(run).toMatchObject({ status: 'completed', usage: { total_tokens: 14 } });
    const { messages } = JSON.parse(inference.upstream.reached[1]!.body.toString());
    expect(messages.slice(-2)).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'yes a' },
      { role: 'tool', tool_call_id: 'b', content: 'yes b' },
    ]);
    const steps = await threads.runs.steps.list(run.id, {
      thread_id: run.thread_id,
      order: 'asc',
    });
    expect(steps.data.map((step) => [step.type, step.status])).toEqual([
      ['tool_calls', 'completed'],
      ['message_creation', 'completed'],
    ]);
  });

  it('receives a run as a stream, and continues it as a stream', async () => {
    const { assistants, threads } = client.beta;
    const chunk = (delta: object, finish: string | null = null) =>
      `data: ${JSON.stringify({ ...chatAnswer, object: 'chat.completion.chunk', usage: null, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    const end = `data: ${JSON.stringify({ ...chatAnswer, choices: [] })}\n\ndata: [DONE]\n\n`;
    const call = { index: 0, id: 'a', function: { name: 'weather', arguments: '{' } };
    const streams = [
      [
        chunk({ content: 'Let me ' }),
        chunk({ content: 'see' }),
        chunk({ tool_calls: [call] }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: '}' } }] }),
        chunk({}, 'tool_calls'),
      ],
      [chunk({ content: 'It ' }), chunk({ content: 'rains' }), chunk({}, 'stop')],
    ];
    inference.upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end([...streams.shift()!, end].join(''));
    };
    const { id } = await assistants.create({ model: 'gpt-test', tools: [weather] });
    const thread = await threads.create({ messages: [{ role: 'user', content: 'rain?' }] });
    const first = threads.runs.stream(thread.id, { assistant_id: id });
    const reported: string[] = [];
    first.on('event', ({ event }) => reported.push(event));
    const asking = await first.finalRun();
    expect(asking.status).toBe('requires_action');
    expect(reported).toEqual([
      'thread.run.created',
      'thread.run.queued',
      'thread.run.in_progress',
      'thread.run.step.created',
      'thread.run.step.in_progress',
      'thread.message.created',
      'thread.message.in_progress',
      'thread.message.delta',
      'thread.message.delta',
      'thread.message.completed',
      'thread.run.step.completed',
      'thread.run.step.created',
      'thread.run.step.in_progress',
      'thread.run.step.delta',
      'thread.run.requires_action',
    ]);
    const second = threads.runs.submitToolOutputsStream(asking.id, {
      thread_id: thread.id,
      tool_outputs: [{ tool_call_id: 'a', output: 'yes' }],
    });
    const text: string[] = [];
    second.on('textDelta', ({ value }) => text.push(value!));
    const run = await second.finalRun();
    expect(run).toMatchObject({ status: 'completed', usage: { total_tokens: 14 } });
    expect(text.join('')).toBe('It rains');
    const [message] = await second.finalMessages();
    const stored = await threads.messages.retrieve(message!.id, { thread_id: thread.id });
    expect(stored.content).toEqual(message!.content);
  });
});

it('runs targets that have credentials of their own beside a caller credential, which is never stored', async () => {
  const { server, upstream } = inference;
  const asks = async (config: object) => {
    const made = await server.request('POST', '/v2/configs', { body: { name: 'one', config } });
    const { key } = await inference.addKey({ defaults: { config_id: made.body.slug } });
    const asking = new OpenAI({
      apiKey: 'DUMMY',
      baseURL: `${server.inferenceUrl}/v1`,
      maxRetries: 0,
      defaultHeaders: { 'x-gateway-api-key': key },
    });
    const { id: assistant_id } = await asking.beta.assistants.create({ model: 'm' });
    const { id } = await asking.beta.threads.create({ messages: [{ role: 'user', content: 'a' }] });
    const poll = { pollIntervalMs: 20 };
    return asking.beta.threads.runs.createAndPoll(id, { assistant_id }, poll);
  };
  const target = { provider: 'openai', custom_host: upstream.url };
  const run = await asks({ ...target, api_key: 'own' });
  expect(run.status).toBe('completed');
  expect(upstream.reached[0]!.headers.authorization).toBe('Bearer own');
  await expect(asks(target)).rejects.toMatchObject({ status: 400 });
});

describe('a run with file search', () => {
  let searching: OpenAI;
  let storeId: string;
  let fileId: string;
  /** Responses of the chat model, in order. */
  let answers: object[];
  const chats = () =>
    inference.upstream.reached
      .filter(({ url }) => url.endsWith('/chat/completions'))
      .map(({ body }) => JSON.parse(body.toString()));

  beforeAll(async () => {
    const { server, upstream } = inference;
    const config = { provider: 'mock-upstream', custom_host: upstream.url };
    const made = await server.request('POST', '/v2/configs', { body: { name: 'kept', config } });
    searching = await clientOf({ defaults: { config_id: made.body.slug } });
    upstream.script = embedding;
    const file = await toFile(Buffer.from('Frogs are green.'), 'frogs【x】.txt');
    ({ id: storeId } = await searching.vectorStores.create({ name: 'animals' }));
    const files = searching.vectorStores.files;
    const poll = { pollIntervalMs: 20 };
    ({ id: fileId } = await files.uploadAndPoll(storeId, file, poll));
  });

  beforeEach(() => {
    answers = [];
    inference.upstream.script = (request, response) => {
      if (request.url.endsWith('/embeddings')) return embedding(request, response);
      sendJson(response, answers.shift());
    };
  });

  const embedding: TestUpstream['script'] = (request, response) => {
    const { input } = JSON.parse(request.body.toString());
    const data = input.map((_: string, index: number) => ({ index, embedding: [1, 0] }));
    sendJson(response, { data, usage: { prompt_tokens: 3, total_tokens: 3 } });
  };

  const called = (...calls: (readonly [id: string, name: string, given: object | string])[]) => ({
    ...chatAnswer,
    choices: [
      {
        index: 0,
        finish_reason: 'tool_calls',
        message: {
          role: 'assistant',
          content: null,
          tool_calls: calls.map(([id, name, given]) => ({
            id,
            type: 'function',
            function: {
              name,
              arguments: typeof given === 'string' ? given : JSON.stringify(given),
            },
          })),
        },
      },
    ],
  });
  const saying = (content: string) => ({
    ...chatAnswer,
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  });
  const look = { queries: ['What colour is a frog?'] };

  const assistantOf = (more: object = {}) =>
    searching.beta.assistants.create({
      model: 'gpt-test',
      tools: [weather, { type: 'file_search' }],
      tool_resources: { file_search: { vector_store_ids: [storeId] } },
      ...more,
    });
  const thread = { messages: [{ role: 'user' as const, content: 'frogs?' }] };

  it('continues by itself, stores the results as a step, and cites them', async () => {
    const { beta } = searching;
    const assistant = await assistantOf();
    expect(assistant.tool_resources).toEqual({ file_search: { vector_store_ids: [storeId] } });
    answers = [
      called(['s', 'file_search', look]),
      saying('Green【1:0†source】, not【9:9†source】.'),
    ];
    const run = await beta.threads.createAndRunPoll(
      { assistant_id: assistant.id, thread },
      { pollIntervalMs: 20 },
    );
    expect(run).toMatchObject({ status: 'completed', usage: { total_tokens: 14 } });
    const { tools, messages } = chats().at(-1);
    expect(tools.map((tool: { function: { name: string } }) => tool.function.name)).toEqual([
      'weather',
      'file_search',
    ]);
    expect(messages.slice(-2)).toMatchObject([
      { tool_calls: [{ function: { name: 'file_search', arguments: JSON.stringify(look) } }] },
      { tool_call_id: 's', content: '【1:0†source】 frogs【x】.txt\nFrogs are green.' },
    ]);
    const { data } = await beta.threads.messages.list(run.thread_id);
    expect(data[0]!.content).toMatchObject([
      {
        text: {
          annotations: [
            {
              type: 'file_citation',
              text: '【1:0†source】',
              start_index: 5,
              end_index: 17,
              file_citation: { file_id: fileId },
            },
          ],
        },
      },
    ]);
    const steps = (include: string[]) =>
      beta.threads.runs.steps.list(run.id, {
        thread_id: run.thread_id,
        order: 'asc',
        include: include as never[],
      });
    const plain = { file_id: fileId, file_name: 'frogs【x】.txt', score: 1 };
    const callOf = (result: object) => ({
      id: 's',
      type: 'file_search',
      file_search: {
        ranking_options: { ranker: 'default_2024_08_21', score_threshold: 0 },
        results: [result],
      },
    });
    const reported = (await steps([])).data.map(({ step_details: details }) => details);
    expect(reported[0]).toEqual({ type: 'tool_calls', tool_calls: [callOf(plain)] });
    const text = { type: 'text', text: 'Frogs are green.' };
    const texts = await steps(['step_details.tool_calls[*].file_search.results[*].content']);
    expect(texts.data[0]!.step_details).toMatchObject({
      tool_calls: [callOf({ ...plain, content: [text] })],
    });
  });

  it('is streamed with the function calls that the caller executes beside the search', async () => {
    const { threads } = searching.beta;
    const { id } = await assistantOf();
    answers = [
      called(['s', 'file_search', look], ['w', 'weather', {}]),
      saying('Yes【1:0†source】'),
    ];
    const stream = threads.createAndRunStream({ assistant_id: id, thread });
    const asking = await stream.finalRun();
    expect(asking.status).toBe('requires_action');
    const { tool_calls: pending } = asking.required_action!.submit_tool_outputs;
    expect(pending.map((call) => call.id)).toEqual(['w']);
    const second = threads.runs.submitToolOutputsStream(asking.id, {
      thread_id: asking.thread_id,
      tool_outputs: [{ tool_call_id: 'w', output: 'dry' }],
    });
    expect((await second.finalRun()).status).toBe('completed');
    const [message] = await second.finalMessages();
    const stored = await threads.messages.retrieve(message!.id, { thread_id: asking.thread_id });
    expect(stored.content).toMatchObject([{ text: { annotations: [{ text: '【1:0†source】' }] } }]);
    expect(message!.content).toMatchObject(stored.content);
    expect(chats().at(-1).messages.slice(-2)).toMatchObject([
      { tool_call_id: 's', content: expect.stringContaining('green') },
      { tool_call_id: 'w', content: 'dry' },
    ]);
  });

  it('is rejected, fails, or tells the model the reason when it cannot search', async () => {
    const { assistants, threads } = searching.beta;
    const endOf = (more: object) =>
      threads.createAndRunPoll({ thread, ...more } as never, { pollIntervalMs: 20 });
    const forced = { tool_choice: { type: 'file_search' } };
    const bare = await assistantOf({ tool_resources: null });
    await expect(endOf({ assistant_id: bare.id, ...forced })).rejects.toMatchObject(
      refused(/cannot search files/),
    );
    answers = [saying('no idea')];
    expect((await endOf({ assistant_id: bare.id })).status).toBe('completed');
    expect(chats().at(-1).tools).toHaveLength(1);
    const twice = [{ type: 'file_search' as const }, { type: 'file_search' as const }];
    await expect(assistants.create({ model: 'm', tools: twice })).rejects.toMatchObject(
      refused(/at most one file_search/),
    );
    const { id } = await assistantOf();
    answers = [called(['s', 'file_search', '{"queries":']), saying('hm')];
    expect((await endOf({ assistant_id: id, ...forced })).status).toBe('completed');
    expect(chats().at(-2).tool_choice).toEqual({
      type: 'function',
      function: { name: 'file_search' },
    });
    expect(chats().at(-1).messages.at(-1).content).toContain('must be {"queries"');
    answers = Array.from({ length: 21 }, () => called(['s', 'file_search', look]));
    expect(await endOf({ assistant_id: id })).toMatchObject({
      last_error: { message: expect.stringContaining('more than 20 searches') },
    });
    const gone = await searching.vectorStores.create({ name: 'soon gone' });
    const resources = { file_search: { vector_store_ids: [gone.id] } };
    const late = await assistantOf({ tool_resources: resources });
    await searching.vectorStores.delete(gone.id);
    answers = [called(['s', 'file_search', look])];
    expect(await endOf({ assistant_id: late.id })).toMatchObject({
      last_error: { code: 'server_error', message: expect.stringContaining(gone.id) },
    });
    await expect(threads.create({ tool_resources: resources })).rejects.toMatchObject({
      status: 404,
    });
    await expect(
      client.beta.threads.create({
        tool_resources: { file_search: { vector_store_ids: [storeId] } },
      }),
    ).resolves.toMatchObject({ tool_resources: { file_search: { vector_store_ids: [storeId] } } });
    await expect(
      other.beta.threads.create({
        tool_resources: { file_search: { vector_store_ids: [storeId] } },
      }),
    ).rejects.toMatchObject({ status: 404 });
  });
});

/** Returns a run that waits for the outputs of calls with these ids. */
async function askingRun(...ids: string[]) {
  const { assistants, threads } = client.beta;
  inference.upstream.script = (_, response) => sendJson(response, callsAnswer(...ids));
  const { id } = await assistants.create({ model: 'gpt-test', tools: [weather] });
  const thread = { messages: [{ role: 'user' as const, content: 'rain?' }] };
  const run = await threads.createAndRunPoll({ assistant_id: id, thread }, { pollIntervalMs: 20 });
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
  return run;
}

const refused = (message: RegExp) => ({ status: 400, message: expect.stringMatching(message) });

describe('a run', () => {
  it('accepts the outputs of all pending calls together, and of no other call', async () => {
    const { runs } = client.beta.threads;
    const run = await askingRun('a', 'b');
    const outputs = (ids: string[], output = 'x') => ({
      thread_id: run.thread_id,
      tool_outputs: ids.map((id) => ({ tool_call_id: id, output })),
    });
    const submit = (...ids: string[]) => runs.submitToolOutputs(run.id, outputs(ids));
    await expect(submit('a')).rejects.toMatchObject(refused(/lacks the output of b/));
    await expect(submit('a', 'a')).rejects.toMatchObject(refused(/\[1\].*occurs twice/));
    await expect(submit('a', 'b', 'c')).rejects.toMatchObject(refused(/\[2\].*not a pending call/));
    await expect(submit()).rejects.toMatchObject(refused(/a, b/));
    expect((await submit('b', 'a')).status).toBe('queued');
    await runs.poll(run.id, { thread_id: run.thread_id }, { pollIntervalMs: 20 });
    await expect(submit('a', 'b')).rejects.toMatchObject(refused(/it is completed/));
    // A caller who lost the response submits the outputs again.
    const isRetry = { headers: { 'x-stainless-retry-count': '1' } };
    const again = await runs.submitToolOutputs(run.id, outputs(['a', 'b']), isRetry);
    expect(again.status).toBe('completed');
    for (const given of [outputs(['a', 'b'], 'y'), outputs(['a'])]) {
      await expect(runs.submitToolOutputs(run.id, given, isRetry)).rejects.toMatchObject(
        refused(/it is completed/),
      );
    }
    const { data } = await runs.steps.list(run.id, { thread_id: run.thread_id });
    expect(data).toHaveLength(2);
  });

  it('returns the error of the model, and text parts and arguments in any form that models use', async () => {
    const { threads, assistants } = client.beta;
    const { id } = await assistants.create({ model: 'gpt-test', tools: [weather] });
    const runOf = async (message: object) => {
      const choices = [{ index: 0, message: { role: 'assistant', ...message } }];
      inference.upstream.script = (_, response) => sendJson(response, { ...chatAnswer, choices });
      const thread = { messages: [{ role: 'user' as const, content: 'hi' }] };
      return threads.createAndRunPoll({ assistant_id: id, thread }, { pollIntervalMs: 20 });
    };
    const refusing = await runOf({ content: null, refusal: 'I will not.' });
    const inParts = await runOf({ content: [{ type: 'text', text: 'In ' }, { text: 'parts.' }] });
    for (const [run, value] of [
      [refusing, 'I will not.'],
      [inParts, 'In parts.'],
    ] as const) {
      const [message] = (await threads.messages.list(run.thread_id)).data;
      expect(message!.content).toMatchObject([{ text: { value } }]);
    }
    const called = { function: { name: 'weather', arguments: { in: 'Bern' } } };
    const asking = await runOf({ content: null, tool_calls: [called] });
    const [call] = asking.required_action!.submit_tool_outputs.tool_calls;
    expect(call).toMatchObject({
      id: expect.stringMatching(/^call_/),
      function: { arguments: '{"in":"Bern"}' },
    });
  });

  it('fails with the partial text when the stream of its model reports an error or breaks off', async () => {
    const { threads, assistants } = client.beta;
    const { id: assistant_id } = await assistants.create({ model: 'gpt-test' });
    const half = { choices: [{ index: 0, delta: { content: 'half' }, finish_reason: null }] };
    const runOf = async (...events: unknown[]) => {
      inference.upstream.script = (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
        response.end();
      };
      const thread = await threads.create({ messages: [{ role: 'user', content: 'hi' }] });
      const run = await threads.runs.stream(thread.id, { assistant_id }).finalRun();
      return { run, text: (await threads.messages.list(thread.id)).data[0]!.content };
    };
    const text = [{ text: { value: 'half' } }];
    const reported = await runOf(half, { error: { message: 'overloaded' } });
    expect(reported).toMatchObject({ run: { last_error: { message: 'overloaded' } }, text });
    const cut = await runOf(half);
    expect(cut).toMatchObject({
      run: { last_error: { message: expect.stringContaining('broke off') } },
      text,
    });
    for (const { run } of [reported, cut]) expect(run.status).toBe('failed');
    const ended = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
    expect((await runOf(half, ended)).run.status).toBe('completed');
  });

  it('blocks its thread while it waits, until it is cancelled or expires after ten minutes', async () => {
    const { runs, messages } = client.beta.threads;
    const [waiting, late] = [await askingRun('a'), await askingRun('a')];
    const place = { thread_id: waiting.thread_id };
    const message = { role: 'user' as const, content: 'still there?' };
    const again = { assistant_id: waiting.assistant_id };
    await expect(messages.create(waiting.thread_id, message)).rejects.toMatchObject(
      refused(/run_/),
    );
    await expect(runs.create(waiting.thread_id, again)).rejects.toMatchObject(refused(/run_/));
    expect((await runs.cancel(waiting.id, place)).status).toBe('cancelled');
    const steps = await runs.steps.list(waiting.id, place);
    expect(steps.data.map(({ status }) => status)).toEqual(['cancelled']);
    await messages.create(waiting.thread_id, message);
    await expect(runs.cancel(waiting.id, place)).rejects.toMatchObject(refused(/has ended/));
    inference.server.clock.advance(600_000);
    await expect(
      runs.submitToolOutputs(late.id, {
        thread_id: late.thread_id,
        tool_outputs: [{ tool_call_id: 'a', output: 'x' }],
      }),
    ).rejects.toMatchObject(refused(/it is expired/));
    const next = await runs.createAndPoll(late.thread_id, again, { pollIntervalMs: 20 });
    expect(next.status).toBe('completed');
  });

  it('ends with the reason when its limits are reached or the model refuses', async () => {
    const { assistants, threads } = client.beta;
    const { id } = await assistants.create({ model: 'gpt-test' });
    const endOf = (more: object) =>
      threads.createAndRunPoll(
        { assistant_id: id, thread: { messages: [{ role: 'user', content: 'hi' }] }, ...more },
        { pollIntervalMs: 20 },
      );
    const [choice] = chatAnswer.choices;
    const cut = { ...chatAnswer, choices: [{ ...choice, finish_reason: 'length' }] };
    inference.upstream.script = (_, response) => sendJson(response, cut);
    expect(await endOf({ max_completion_tokens: 256 })).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_completion_tokens' },
    });
    const [requested] = inference.upstream.reached;
    expect(JSON.parse(requested!.body.toString())).toMatchObject({ max_completion_tokens: 256 });
    inference.upstream.script = (_, response) =>
      sendJson(response, { error: { message: 'too fast' } }, 429);
    expect(await endOf({})).toMatchObject({
      status: 'failed',
      last_error: { code: 'rate_limit_exceeded', message: 'too fast' },
    });
    await expect(endOf({ max_prompt_tokens: 255 })).rejects.toMatchObject(
      refused(/max_prompt_tokens/),
    );
  });

  it('accepts at most twenty functions, and no hosted tools', async () => {
    const { assistants } = client.beta;
    const named = (at: number) => ({ ...weather, function: { name: `f${at}` } });
    const tools = Array.from({ length: 21 }, (_, at) => named(at));
    await expect(assistants.create({ model: 'm', tools })).rejects.toMatchObject(refused(/tools/));
    await assistants.create({ model: 'm', tools: tools.slice(1) });
    const code = [{ type: 'code_interpreter' as const }];
    await expect(assistants.create({ model: 'm', tools: code })).rejects.toMatchObject(
      refused(/tools\[0\].type: code_interpreter is not supported/),
    );
  });

  it('is admitted, counted and logged as a request of its key', async () => {
    const { server } = inference;
    const config = { provider: 'openai', api_key: 'any', custom_host: inference.upstream.url };
    const made = await server.request('POST', '/v2/configs', { body: { name: 'one', config } });
    const poor = await clientOf({
      defaults: { config_id: made.body.slug },
      rate_limits: [{ type: 'requests', unit: 'rpd', value: 1 }],
    });
    const { assistants, threads } = poor.beta;
    const { id } = await assistants.create({ model: 'gpt-test' });
    const run = () =>
      threads.createAndRunPoll(
        { assistant_id: id, thread: { messages: [{ role: 'user', content: 'hi' }] } },
        { pollIntervalMs: 20 },
      );
    expect((await run()).status).toBe('completed');
    expect(await run()).toMatchObject({
      status: 'failed',
      last_error: { code: 'rate_limit_exceeded' },
    });
    expect(inference.upstream.reached).toHaveLength(1);
  });
});

describe('two tenants', () => {
  it('cannot access the objects of the other on any route', async () => {
    const run = await askingRun('a');
    const { thread_id: thread, assistant_id: assistant } = run;
    const { data } = await client.beta.threads.messages.list(thread);
    const steps = await client.beta.threads.runs.steps.list(run.id, { thread_id: thread });
    const mine = await other.beta.assistants.create({ model: 'm' });
    const place = await other.beta.threads.create();
    const paths = [
      `/assistants/${assistant}`,
      `/threads/${thread}`,
      `/threads/${thread}/messages`,
      `/threads/${thread}/messages/${data[0]!.id}`,
      `/threads/${thread}/runs`,
      `/threads/${place.id}/messages/${data[0]!.id}`,
      `/threads/${place.id}/runs/${run.id}`,
      `/threads/${thread}/runs/${run.id}`,
      `/threads/${thread}/runs/${run.id}/steps`,
      `/threads/${thread}/runs/${run.id}/steps/${steps.data[0]!.id}`,
    ];
    const missing = { status: 404 };
    for (const path of paths) {
      await expect(other.get(path), path).rejects.toMatchObject(missing);
      await expect(other.post(path, { body: {} }), path).rejects.toMatchObject(missing);
      await expect(other.delete(path), path).rejects.toMatchObject(missing);
    }
    for (const path of ['cancel', 'submit_tool_outputs']) {
      const posting = other.post(`/threads/${thread}/runs/${run.id}/${path}`, {
        body: { tool_outputs: [{ tool_call_id: 'a', output: 'x' }] },
      });
      await expect(posting).rejects.toMatchObject(missing);
    }
    const { runs } = other.beta.threads;
    await expect(runs.create(place.id, { assistant_id: assistant })).rejects.toMatchObject(missing);
    await expect(runs.create(thread, { assistant_id: mine.id })).rejects.toMatchObject(missing);
    await expect(
      other.beta.threads.createAndRun({ assistant_id: assistant }),
    ).rejects.toMatchObject(missing);
    const { data: listed } = await other.beta.assistants.list();
    expect(listed.map(({ id }) => id)).toEqual([mine.id]);
    await client.beta.threads.runs.cancel(run.id, { thread_id: thread });
  });

  it('pages through, updates and deletes its own objects with all contents', async () => {
    const { assistants, threads } = other.beta;
    const made: string[] = [];
    for (const name of ['b', 'c', 'd'])
      made.push((await assistants.create({ model: 'm', name })).id);
    const seen: string[] = [];
    for await (const { id } of assistants.list({ order: 'asc', limit: 2 })) seen.push(id);
    expect(seen.slice(-3)).toEqual(made);
    const before = await assistants.list({ order: 'asc', limit: 2, before: made[1]! });
    expect(before.data.at(-1)!.id).toBe(made[0]);
    const changed = await assistants.update(made[0]!, { instructions: 'x', metadata: { a: 'b' } });
    expect(changed).toMatchObject({
      name: 'b',
      instructions: 'x',
      metadata: { a: 'b' },
      model: 'm',
    });
    await assistants.delete(made[0]!);
    await expect(assistants.retrieve(made[0]!)).rejects.toMatchObject({ status: 404 });
    const thread = await threads.create({ messages: [{ role: 'user', content: 'hi' }] });
    const run = await threads.runs.createAndPoll(
      thread.id,
      { assistant_id: made[1]!, metadata: { of: 'me' } },
      { pollIntervalMs: 20 },
    );
    expect(run).toMatchObject({ status: 'completed', metadata: { of: 'me' } });
    expect((await threads.update(thread.id, { metadata: { k: 'v' } })).metadata).toEqual({
      k: 'v',
    });
    await threads.delete(thread.id);
    await expect(threads.messages.list(thread.id)).rejects.toMatchObject({ status: 404 });
    await expect(threads.runs.retrieve(run.id, { thread_id: thread.id })).rejects.toMatchObject({
      status: 404,
    });
  });
});
