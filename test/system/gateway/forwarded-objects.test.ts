/** Tests that an OpenAI client gets the same from a gateway that forwards objects as from the gateway that stores them, also when the forwarding one is killed. */
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openProviderLists } from '../../../src/gateway/objects/provider-lists.ts';
import { findLostObjects } from '../../../src/jobs/find-lost-objects.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import {
  type GatewayProcess,
  newMasterKeys,
  startGatewayProcess,
} from '../../gate/gateway-processes.ts';
import { type StatementGate, startStatementGate } from '../../support/database/statement-gate.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { jobContext } from '../../support/server/job-context.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { sendJson, type TestUpstream } from '../../support/upstream/upstream.ts';
import { driveObjects, poll, textFile, weather } from './driven-objects.ts';

/** Stores every object, with a model that only supports chats. */
let keeper: Inference;
/** Forwards everything to the storing gateway; its process is killed. */
let passing: TestServer;
let gateway: GatewayProcess;
let gate: StatementGate;
let key: string;
let theirs: string;
/** Key of a separate workspace at the storing gateway. */
let direct: OpenAI;

/** Texts that the model answers on a signal only, and the signals. */
const unanswered = new Map<string, () => void>();
const awaited = new Map<string, Promise<void>>();

function holdAnswerTo(text: string): void {
  const { promise, resolve } = Promise.withResolvers<void>();
  awaited.set(text, promise);
  unanswered.set(text, resolve);
}

/** Requested texts among them. */
const requested = new Set<string>();

const callNamed = (name: string, given: object) => ({
  id: `call_${name}`,
  type: 'function',
  function: { name, arguments: JSON.stringify(given) },
});

const script: TestUpstream['script'] = async ({ body }, response) => {
  const { input, messages, stream } = JSON.parse(body.toString());
  const stated = messages?.at(-1).content;
  const text = String(input?.[0] ?? stated?.[0]?.text ?? stated);
  requested.add(text);
  const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
  if (input !== undefined) {
    await awaited.get(text);
    const data = input.map((_: string, index: number) => ({ index, embedding: [1, index + 1] }));
    return sendJson(response, { object: 'list', model: 'e', data, usage });
  }
  const calls = new Map([
    ['ask', [callNamed('weather', {})]],
    ['search', [callNamed('file_search', { queries: ['frogs'] })]],
  ]).get(text);
  const finish_reason = calls === undefined ? 'stop' : 'tool_calls';
  const chat = { id: 'chat', object: 'chat.completion', created: 1, model: 'gpt-test' };
  if (stream !== true) {
    await awaited.get(text);
    const message = { role: 'assistant', content: calls === undefined ? 'Oh, hi' : null };
    const choice = { index: 0, message: { ...message, tool_calls: calls }, finish_reason };
    return sendJson(response, { ...chat, choices: [choice], usage });
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const tell = (more: object) => {
    const chunk = { ...chat, object: 'chat.completion.chunk', ...more };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  const tool_calls = calls?.map((call, index) => ({ index, ...call }));
  const first = calls === undefined ? { content: 'Oh, ' } : { tool_calls };
  tell({ choices: [{ index: 0, delta: { role: 'assistant', ...first }, finish_reason: null }] });
  await awaited.get(text);
  if (calls === undefined) {
    tell({ choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: null }] });
  }
  tell({ choices: [{ index: 0, delta: {}, finish_reason }] });
  tell({ choices: [], usage });
  response.end('data: [DONE]\n\n');
};

const clientAt = (url: string, apiKey: string, maxRetries = 0): OpenAI =>
  new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries, timeout: 600_000 });

/** A key of a new workspace whose config leads there. */
async function keyOf(server: TestServer, name: string, config: (id: string) => Promise<object>) {
  const post = async (path: string, body: object) => {
    const answer = await server.request('POST', path, { body });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body;
  };
  const { id } = await post('/v2/workspaces', { name });
  const body = { name, workspace_id: id, config: await config(id) };
  const { slug } = await post('/v2/configs', body);
  const stated = { name: 'caller', scopes: ['completions.write'], workspace_id: id };
  const made = await post('/v1/api-keys/workspace/service', {
    ...stated,
    defaults: { config_id: slug },
  });
  return made.key as string;
}

beforeAll(async () => {
  keeper = await startInference();
  keeper.upstream.script = script;
  const native = { provider: 'mock-upstream', custom_host: keeper.upstream.url };
  const account = await keyOf(keeper.server, 'account', async () => native);
  const other = await keyOf(keeper.server, 'direct', async () => native);
  direct = clientAt(keeper.server.inferenceUrl, other);

  const trusted = new URL(keeper.server.inferenceUrl).host;
  passing = await startTestServer({
    settings: { masterKeys: newMasterKeys(), trustedHosts: trustedHostsOf(trusted) },
  });
  for (const { clock } of [keeper.server, passing]) clock.set(Date.now());
  const proxy = 'proxy' as const;
  const integration = await passing.request('POST', '/v1/integrations', {
    body: {
      name: 'Keeper',
      slug: 'keeper',
      ai_provider_id: 'openai',
      key: account,
      configurations: { custom_host: `${keeper.server.inferenceUrl}/v1` },
      capabilities: { assistants: proxy, vector_stores: proxy, files: proxy, responses: proxy },
    },
  });
  const configOf = async (workspace_id: string) => {
    const { body } = await passing.request('POST', '/v1/providers', {
      body: { name: 'keeper', integration_id: integration.body.id, workspace_id },
    });
    return { provider: `@${body.slug}` };
  };
  key = await keyOf(passing, 'ours', configOf);
  theirs = await keyOf(passing, 'theirs', configOf);
  gate = await startStatementGate(passing.settings.database!, fateOf);
  gateway = await start();
});

afterAll(async () => {
  await gateway.kill();
  await gate[Symbol.asyncDispose]();
  await passing[Symbol.asyncDispose]();
  await keeper[Symbol.asyncDispose]();
});

function trustedHostsOf(text: string) {
  const trusted = readTrustedHosts(text);
  return 'hosts' in trusted ? trusted.hosts : [];
}

function start(more: { database?: StatementGate['settings']; port?: number } = {}) {
  const { database = passing.settings.database!, port } = more;
  const trusted = new URL(keeper.server.inferenceUrl).host;
  return startGatewayProcess({
    settings: { ...passing.settings, database },
    trusted,
    ...(port !== undefined && { port }),
  });
}

/** Whether the gateway is killed before it records the owner of a created object. */
let losesOwners = false;
let lost = 0;
const fateOf = (statement: string): 'pass' | 'hold' => {
  if (!losesOwners || !/insert (?:ignore )?into `owned_objects`/.test(statement)) return 'pass';
  lost += 1;
  return 'hold';
};

it('returns the same responses, events and errors for everything that SDKs have helpers for', async () => {
  const passed = clientAt(gateway.inferenceUrl, key);
  holdAnswerTo('later');
  const [here, there] = await Promise.all([passed, direct].map(driveObjects));
  unanswered.get('later')!();
  expect(here).toEqual(there);
});

it('completes polling helpers and ends streams when killed and restarted', async () => {
  const port = Number(new URL(gateway.inferenceUrl).port);
  /** Requests of the helpers that were answered. */
  const polls = new Set<string>();
  const client = clientAt(gateway.inferenceUrl, key, 50).withOptions({
    fetch: async (url, init) => {
      const answer = await fetch(url, init);
      if (init?.method?.toUpperCase() === 'GET') polls.add(String(url));
      return answer;
    },
  });
  const { assistants, threads } = client.beta;
  const { id: assistant_id } = await assistants.create({ model: 'gpt-test', tools: [weather] });
  const threadOf = (content: string) => ({ messages: [{ role: 'user' as const, content }] });
  const waiting = await threads.createAndRunPoll({ assistant_id, thread: threadOf('ask') }, poll);
  const outputs = [{ tool_call_id: 'call_weather', output: 'submitted' }];
  const polled = await threads.create(threadOf('polled'));
  const streamed = await threads.create(threadOf('streamed'));
  const store = await client.vectorStores.create({ name: 'plants' });
  // Files of a store are ingested sequentially: the others wait for the first.
  const texts = ['polled', 'both', 'submitted', 'streamed', 'half', 'Moss.'];
  for (const text of texts) holdAnswerTo(text);
  for (const set of [requested, polls]) set.clear();

  const runs = [
    threads.runs.createAndPoll(polled.id, { assistant_id }, poll),
    threads.createAndRunPoll({ assistant_id, thread: threadOf('both') }, poll),
    threads.runs.submitToolOutputsAndPoll(
      waiting.id,
      { thread_id: waiting.thread_id, tool_outputs: outputs },
      poll,
    ),
  ];
  const [moss, ...others] = await Promise.all(
    ['Moss.', 'Fern.', 'Kelp.'].map((text) => textFile(text, 'plant.txt')),
  );
  const uploads = [
    client.vectorStores.files.uploadAndPoll(store.id, moss!, poll),
    client.vectorStores.fileBatches.uploadAndPoll(store.id, { files: others }, poll),
  ];
  const reported = threads.runs.stream(streamed.id, { assistant_id });
  const reportedRun = Promise.withResolvers<string>();
  reported.on('event', ({ event, data }) => {
    if (event === 'thread.run.created') reportedRun.resolve(data.id);
  });
  const response = client.responses.stream({ model: 'gpt-test', input: 'half' });
  const responseId = Promise.withResolvers<string>();
  const received: { sequence_number: number; type: string }[] = [];
  response.on('event', (event) => {
    received.push(event);
    if (event.type === 'response.created') responseId.resolve(event.response.id);
  });
  const broken = [reported, response].map((one) => expect(one.done()).rejects.toThrow());
  const [runId, halfId] = [await reportedRun.promise, await responseId.promise];
  const background = { model: 'gpt-test', input: 'half', background: true };
  const behind = await client.responses.create(background);
  // Creates have been answered: helpers repeat unanswered ones, which would leave two objects.
  await eventually(() => {
    expect([...requested]).toEqual(expect.arrayContaining(texts));
    expect(polls.size).toBe(runs.length + uploads.length);
  });

  await gateway.kill();
  gateway = await start({ port });
  for (const text of texts) unanswered.get(text)!();
  for (const run of await Promise.all(runs)) expect(run.status).toBe('completed');
  for (const one of await Promise.all(uploads)) expect(one.status).toBe('completed');
  await Promise.all(broken);
  const run = await threads.runs.poll(runId, { thread_id: streamed.id }, poll);
  expect(run.status).toBe('completed');
  const { data } = await threads.messages.list(streamed.id);
  expect(data[0]!.content).toMatchObject([{ text: { value: 'Oh, hi' } }]);

  const last = received.at(-1)!.sequence_number;
  for await (const event of await client.responses.retrieve(halfId, {
    stream: true,
    starting_after: last,
  })) {
    received.push(event);
  }
  expect(received.map((event) => event.sequence_number)).toEqual(received.map((_, at) => at));
  expect(received.at(-1)!.type).toBe('response.completed');
  await eventually(async () => {
    const { status, output_text } = await client.responses.retrieve(behind.id);
    expect({ status, output_text }).toEqual({ status: 'completed', output_text: 'Oh, hi' });
  });
});

it('finds the owner of an object when killed between its creation and its record', async () => {
  await gateway.kill();
  gateway = await start({ database: gate.settings });
  losesOwners = true;
  const dying = clientAt(gateway.inferenceUrl, key);
  const made = [
    dying.vectorStores.create({ name: 'lost', metadata: { a: 'b' } }),
    dying.beta.assistants.create({ model: 'gpt-test', name: 'lost' }),
  ].map((one) => expect(one).rejects.toThrow());
  await eventually(() => expect(lost).toBe(made.length));
  await gateway.kill();
  await Promise.all(made);
  gateway = await start();
  const client = clientAt(gateway.inferenceUrl, key);
  const other = clientAt(gateway.inferenceUrl, theirs);
  const lostOf = async <T extends { name?: string | null }>(some: Promise<{ data: T[] }>) =>
    (await some).data.filter(({ name }) => name === 'lost');
  expect(await lostOf(client.vectorStores.list())).toEqual([]);

  const { database, app, settings, clock } = passing;
  const { unsealerOf } = app.keyring;
  await using lists = openProviderLists({
    database,
    clock,
    unsealerOf,
    trustedHosts: settings.trustedHosts,
    mayBeItself: false,
    onSecretFailure: () => {},
    onSecretRead: () => {},
  });
  const soon = Date.now() + 61_000;
  const found = await findLostObjects(lists).run(jobContext(database, soon));
  expect(found).toEqual({ found: 2, unfound: 0, postponed: 0 });

  const [store, ...noStores] = await lostOf(client.vectorStores.list());
  const [assistant, ...noAssistants] = await lostOf(client.beta.assistants.list());
  expect([...noStores, ...noAssistants]).toEqual([]);
  expect([store!.metadata, assistant!.metadata]).toEqual([{ a: 'b' }, {}]);
  await expect(other.vectorStores.retrieve(store!.id)).rejects.toMatchObject({ status: 404 });
  const file = await textFile('Newts are wet.', 'newts.txt');
  const read = await client.vectorStores.files.uploadAndPoll(store!.id, file, poll);
  expect(read.status).toBe('completed');
  const thread = { messages: [{ role: 'user' as const, content: 'search' }] };
  const tool_resources = { file_search: { vector_store_ids: [store!.id] } };
  const tools = [{ type: 'file_search' as const }];
  await client.beta.assistants.update(assistant!.id, { tools });
  const run = await client.beta.threads.createAndRunPoll(
    { assistant_id: assistant!.id, thread: { ...thread, tool_resources } },
    poll,
  );
  expect(run.status).toBe('completed');
  expect((await client.vectorStores.delete(store!.id)).deleted).toBe(true);
});
