/** Tests that a killed gateway loses no stored object: another one completes its runs, and nothing is done or charged twice. */
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chargeLostSlices } from '../../../src/jobs/charge-lost-slices.ts';
import { splitText } from '../../../src/objects/ingestion/text-chunks.ts';
import { countersOf } from '../../gate/counters.ts';
import {
  type GatewayProcess,
  newMasterKeys,
  startGatewayProcess,
} from '../../gate/gateway-processes.ts';
import { type StatementGate, startStatementGate } from '../../support/database/statement-gate.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { jobContext } from '../../support/server/job-context.ts';
import { freeze } from '../../support/server/process.ts';
import { sendJson, type TestUpstream } from '../../support/upstream/upstream.ts';

/** State of a run when the gateway that drives it is killed. */
const moments = [
  /** Queued: not started. */
  'begin',
  /** In progress, before the model is called. */
  'prompt',
  /** The model is called and has not responded. */
  'answer',
  /** It has responded, and nothing is written. */
  'settle',
  /** Everything is written but not committed. */
  'commit',
  /** It is committed, and the gateway has not received the confirmation. */
  'lose',
  /** It has called a function. */
  'ask',
  /** It has called a search that is running. */
  'search',
  /** The model is called, and the run was cancelled elsewhere. */
  'cancel',
] as const;
type Moment = (typeof moments)[number];

let inference: Inference;
let gate: StatementGate;
let victim: GatewayProcess;
let key: string;
/** Clients of the gateway that is killed, and of the one that stays. */
let clients: { readonly dying: OpenAI; readonly staying: OpenAI };
let keyId: string;

/** Answered requests of the provider, by their reported usage. */
interface AnsweredRequests {
  readonly moment: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
}
const answered: AnsweredRequests[] = [];
/** Runs whose first model call is not answered. */
const unanswered = new Set<string>();
/** The statement of the killed gateway at which the run or thread is held, and which rows. */
const holds = new Map<string, Moment>();
const held = new Set<Moment>();

const fateOf = (statement: string, before: readonly string[]): 'pass' | 'hold' | 'lose' => {
  const reading = fateOfReading(statement, before);
  if (reading !== 'pass') return reading;
  if (statement.includes('insert into `runs`')) {
    const moment = /moment\\":\\"(\w+)/.exec(statement)?.[1] as Moment;
    for (const [id] of statement.matchAll(/(?:run|thread)_gw[0-9a-f]{32}/g)) holds.set(id, moment);
    return 'pass';
  }
  const momentIn = (text: string): Moment | undefined =>
    holds.get(/(?:run|thread)_gw[0-9a-f]{32}/.exec(text)?.[0] ?? '');
  const isMove = (text: string, status: string): boolean =>
    text.includes(`update \`runs\` set \`status\` = '${status}'`);
  const is = (moment: Moment, text = statement): boolean => momentIn(text) === moment;
  const hold = (moment: Moment, fate: 'hold' | 'lose' = 'hold') => {
    held.add(moment);
    return fate;
  };
  if (isMove(statement, 'in_progress') && is('begin')) return hold('begin');
  if (statement.includes('from `thread_messages`') && is('prompt')) return hold('prompt');
  if (isMove(statement, 'completed') && is('settle')) return hold('settle');
  if (!/commit$/i.test(statement)) return 'pass';
  const moved = before.findLast((text) => text.includes('update `runs`')) ?? '';
  if (isMove(moved, 'completed') && is('commit', moved)) return hold('commit');
  return isMove(moved, 'completed') && is('lose', moved) ? hold('lose', 'lose') : 'pass';
};

/** State of a file ingestion when its gateway is killed. */
const readingMoments = [
  /** It has started, and nothing is recorded. */
  'take',
  /** The second embeddings are requested and not answered. */
  'embed',
  /** They are written but not committed. */
  'write',
  /** They are committed, and the gateway has not received the confirmation. */
  'forget',
  /** Everything is written except the final status. */
  'end',
] as const;
type ReadingMoment = (typeof readingMoments)[number];
/** The statement at which the file of a store is held, and which rows. */
const readings = new Map<string, ReadingMoment>();
const heldReadings = new Set<ReadingMoment>();

const fateOfReading = (statement: string, before: readonly string[]): 'pass' | 'hold' | 'lose' => {
  const momentIn = (text: string) => readings.get(/vs_gw[0-9a-f]{32}/.exec(text)?.[0] ?? '');
  const hold = (moment: ReadingMoment) => {
    heldReadings.add(moment);
    return moment === 'forget' ? 'lose' : 'hold';
  };
  const isUpdate = statement.includes('update `vector_store_files` set');
  if (isUpdate && statement.includes('set `lease` =') && momentIn(statement) === 'take') {
    return hold('take');
  }
  if (isUpdate && statement.includes("= 'completed'") && momentIn(statement) === 'end') {
    return hold('end');
  }
  if (!/commit$/i.test(statement)) return 'pass';
  const written = before.findLast((text) => text.includes('set `chunks` = 64')) ?? '';
  const moment = momentIn(written);
  return moment === 'write' || moment === 'forget' ? hold(moment) : 'pass';
};

const call = (name: string, given: object) => ({
  role: 'assistant',
  content: null,
  tool_calls: [
    { id: name, type: 'function', function: { name, arguments: JSON.stringify(given) } },
  ],
});

const script: TestUpstream['script'] = ({ url, body }, response) => {
  const { input, messages, stream } = JSON.parse(body.toString());
  const isFirst = messages?.at(-1).role === 'user';
  const moment = String(input?.[0] ?? messages[0].content);
  if (unanswered.delete(moment)) {
    if (stream !== true) return;
    const delta = { role: 'assistant', content: 'Half' };
    const chunk = { id: 'c', choices: [{ index: 0, delta, finish_reason: null }] };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    return;
  }
  const [inputTokens, outputTokens] = [100 + answered.length, url.endsWith('/embeddings') ? 0 : 7];
  response.once('finish', () => answered.push({ moment, inputTokens, outputTokens }));
  const usage = {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
  if (input !== undefined) {
    const data = input.map((_: string, index: number) => ({ index, embedding: [1, 0] }));
    return sendJson(response, { data, usage });
  }
  const calls = { ask: call('f', {}), search: call('file_search', { queries: ['frogs'] }) };
  const called = isFirst ? calls[moment as keyof typeof calls] : undefined;
  const message = called ?? { role: 'assistant', content: 'hi' };
  const finish = called === undefined ? 'stop' : 'tool_calls';
  sendJson(response, { choices: [{ index: 0, message, finish_reason: finish }], usage });
};

beforeAll(async () => {
  inference = await startInference({ masterKeys: newMasterKeys() });
  const { server, upstream } = inference;
  server.clock.set(Date.now());
  upstream.script = script;
  const config = { provider: 'mock-upstream', custom_host: upstream.url };
  const made = await server.request('POST', '/v2/configs', { body: { name: 'all', config } });
  const added = await inference.addKey({
    defaults: { config_id: made.body.slug },
    usage_limits: { credit_limit: 100 },
  });
  keyId = added.id;
  key = added.key;
  gate = await startStatementGate(server.settings.database!, fateOf);
  victim = await startGatewayProcess({
    settings: { ...server.settings, database: gate.settings },
    trusted: upstream.host,
  });
  clients = { dying: clientAt(victim.inferenceUrl), staying: clientAt(server.inferenceUrl) };
});

const clientAt = (url: string, maxRetries = 0): OpenAI =>
  new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries, timeout: 600_000 });

/** Simulates elapsed time: leases of the killed gateway expire. */
async function endLeases(): Promise<void> {
  const { server } = inference;
  const { db } = server.database;
  server.clock.set(Date.now());
  const runs = db.updateTable('runs').set({ lease_until: 0 });
  await runs.where('lease_until', 'is not', null).execute();
  const responses = db.updateTable('responses').set({ alive_until: 0 });
  await responses.where('alive_until', 'is not', null).execute();
  await db.updateTable('vector_store_files').set({ leased_until: 0 }).execute();
}

afterAll(async () => {
  await victim.kill();
  await gate[Symbol.asyncDispose]();
  await inference[Symbol.asyncDispose]();
});

/** Charges of the key for responses with known usage, in micro-dollars; excludes lost ones. */
async function chargedUnits(): Promise<number> {
  const limit = { name: 'key', subjectId: keyId, type: 'cost', units: 100_000_000 } as const;
  const counters = await countersOf(inference.server.database.db, limit);
  return counters.reduce((sum, { used, assumed }) => sum + used - assumed, 0);
}

const units = (some: readonly AnsweredRequests[]): number =>
  some.reduce((sum, one) => sum + one.inputTokens + 2 * one.outputTokens, 0);

const answersOf = (moment: string): AnsweredRequests[] =>
  answered.filter((one) => one.moment === moment);

const tokens = (some: readonly AnsweredRequests[]): number =>
  some.reduce((sum, one) => sum + one.inputTokens + one.outputTokens, 0);

it('repeats no step and charges no response twice, in every state of a run and a response', async () => {
  const { dying, staying } = clients;
  const { server, upstream } = inference;
  const { db } = server.database;
  const store = await dying.vectorStores.create({ name: 'animals' });
  const file = await toFile(Buffer.from('Frogs are green.'), 'frogs.txt');
  await dying.vectorStores.files.uploadAndPoll(store.id, file, { pollIntervalMs: 20 });
  const assistant = await dying.beta.assistants.create({
    model: 'gpt-test',
    tools: [{ type: 'function', function: { name: 'f' } }, { type: 'file_search' }],
    tool_resources: { file_search: { vector_store_ids: [store.id] } },
  });
  for (const name of ['answer', 'cancel', 'frogs', 'stream']) unanswered.add(name);
  const runs = new Map<Moment, { readonly id: string; readonly thread_id: string }>();
  for (const moment of moments) {
    const run = await dying.beta.threads.createAndRun({
      assistant_id: assistant.id,
      metadata: { moment },
      thread: { messages: [{ role: 'user', content: moment }] },
    });
    runs.set(moment, run);
  }
  const look = (moment: Moment) => {
    const { id, thread_id } = runs.get(moment)!;
    return staying.beta.threads.runs.retrieve(id, { thread_id });
  };
  const stream = await dying.responses.create({ model: 'm', input: 'stream', stream: true });
  const events = stream[Symbol.asyncIterator]();
  const seen = [(await events.next()).value];
  const responseId = (seen[0] as { response: { id: string } }).response.id;
  while (seen.at(-1)?.type !== 'response.output_text.delta') seen.push((await events.next()).value);

  await eventually(async () => {
    expect([...held].sort()).toEqual(['begin', 'commit', 'lose', 'prompt', 'settle']);
    expect(unanswered.size).toBe(0);
    expect((await look('ask')).status).toBe('requires_action');
    expect(await chargedUnits()).toBe(units(answered));
  });
  await freeze(victim.child.pid!);
  const cancelled = runs.get('cancel')!;
  const cancelling = await staying.beta.threads.runs.cancel(cancelled.id, cancelled);
  expect(cancelling.status).toBe('cancelling');
  const states = await Promise.all(moments.map(async (one) => [one, (await look(one)).status]));
  expect(Object.fromEntries(states)).toEqual({
    begin: 'queued',
    prompt: 'in_progress',
    answer: 'in_progress',
    settle: 'in_progress',
    commit: 'in_progress',
    lose: 'completed',
    ask: 'requires_action',
    search: 'in_progress',
    cancel: 'cancelling',
  });
  await victim.kill();
  await endLeases();

  const asking = runs.get('ask')!;
  await staying.beta.threads.runs.submitToolOutputs(asking.id, {
    thread_id: asking.thread_id,
    tool_outputs: [{ tool_call_id: 'f', output: 'x' }],
  });
  for (const moment of moments) {
    await eventually(async () => {
      const { status } = await look(moment);
      expect(status).toBe(moment === 'cancel' ? 'cancelled' : 'completed');
    });
  }
  // The model is called again only if nothing of its response was written.
  const requested = Object.fromEntries(
    moments.map((one) => [
      one,
      upstream.reached.filter(({ body }) => body.toString().includes(`"content":"${one}"`)).length,
    ]),
  );
  expect(requested).toEqual({
    begin: 1,
    prompt: 1,
    answer: 2,
    settle: 2,
    commit: 2,
    lose: 1,
    ask: 2,
    search: 2,
    cancel: 1,
  });
  for (const moment of moments.filter((one) => one !== 'cancel')) {
    const { id, thread_id } = runs.get(moment)!;
    const { usage } = await look(moment);
    const turns = moment === 'ask' || moment === 'search' ? 2 : 1;
    expect(usage!.total_tokens, moment).toBe(tokens(answersOf(moment).slice(-turns)));
    const { data } = await staying.beta.threads.runs.steps.list(id, { thread_id, order: 'asc' });
    const types = turns === 1 ? ['message_creation'] : ['tool_calls', 'message_creation'];
    expect(data.map(({ type, status }) => `${type} ${status}`)).toEqual(
      types.map((type) => `${type} completed`),
    );
    const messages = await staying.beta.threads.messages.list(thread_id);
    expect(messages.data.map(({ role }) => role)).toEqual(['assistant', 'user']);
  }

  const lost = await staying.responses.retrieve(responseId);
  expect(lost).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
  const reported: { type: string; sequence_number: number }[] = [];
  const again = await staying.responses.retrieve(responseId, { stream: true, starting_after: -1 });
  for await (const event of again) reported.push(event as never);
  expect(reported.map((event) => event.sequence_number)).toEqual(reported.map((_, at) => at));
  expect(reported.slice(0, -1)).toEqual(seen);
  expect(reported.at(-1)!.type).toBe('response.failed');
  await expect(
    staying.responses.create({ model: 'm', input: 'on', previous_response_id: responseId }),
  ).rejects.toMatchObject({ status: 400 });
  const rest = async (): Promise<void> => {
    while ((await events.next()).done !== true);
  };
  await expect(rest()).rejects.toThrow();

  await eventually(async () => expect(await chargedUnits()).toBe(units(answered)));
  await db.updateTable('usage_holders').set({ lease_until: 0 }).execute();
  await chargeLostSlices().run(jobContext(server.database, Date.now()));
  expect(await chargedUnits()).toBe(units(answered));
});

it('completes the helpers of a client when killed and restarted', async () => {
  const { server, upstream } = inference;
  const trusted = upstream.host;
  const port = Number(new URL(victim.inferenceUrl).port);
  const start = () => startGatewayProcess({ settings: server.settings, trusted, port });
  victim = await start();
  /** Objects that the helpers poll. */
  const polls = new Set<string>();
  const client = clientAt(victim.inferenceUrl, 50).withOptions({
    fetch: async (url, init) => {
      const answer = await fetch(url, init);
      if (init?.method?.toUpperCase() === 'GET') polls.add(String(url));
      return answer;
    },
  });
  const { threads, assistants } = client.beta;
  const poll = { pollIntervalMs: 50 };
  const tools = [{ type: 'function' as const, function: { name: 'f' } }];
  const { id: assistant_id } = await assistants.create({ model: 'gpt-test', tools });
  const threadOf = (content: string) => ({ messages: [{ role: 'user' as const, content }] });
  const asking = await threads.createAndRunPoll({ assistant_id, thread: threadOf('ask') }, poll);
  const store = await client.vectorStores.create({ name: 'plants' });
  const file = await toFile(Buffer.from('Moss is green.'), 'moss.txt');
  const thread = await threads.create(threadOf('poll'));
  const streamed = await threads.create(threadOf('told'));
  for (const name of ['poll', 'both', 'told', 'half', 'Moss is green.']) {
    unanswered.add(name);
  }
  polls.clear();
  const outputs = [{ tool_call_id: 'f', output: 'submit' }];

  const polled = [
    threads.runs.createAndPoll(thread.id, { assistant_id }, poll),
    threads.createAndRunPoll({ assistant_id, thread: threadOf('both') }, poll),
    threads.runs.submitToolOutputsAndPoll(
      asking.id,
      { thread_id: asking.thread_id, tool_outputs: outputs },
      poll,
    ),
  ];
  const uploaded = client.vectorStores.files.uploadAndPoll(store.id, file, poll);
  const reported = threads.runs.stream(streamed.id, { assistant_id });
  const reportedRun = Promise.withResolvers<string>();
  reported.on('event', ({ event, data }) => {
    if (event === 'thread.run.created') reportedRun.resolve(data.id);
  });
  const broken = expect(reported.done()).rejects.toThrow();
  const response = client.responses.stream({ model: 'm', input: 'half' });
  const responseId = Promise.withResolvers<string>();
  response.on('response.created', (event) => responseId.resolve(event.response.id));
  const brokenToo = expect(response.done()).rejects.toThrow();
  const [runId, halfId] = [await reportedRun.promise, await responseId.promise];
  // Creates have been answered: helpers repeat unanswered ones, which would leave two objects.
  await eventually(() => {
    expect([...unanswered]).toEqual([]);
    expect(polls.size).toBe(polled.length + 1);
  });

  await victim.kill();
  await endLeases();
  victim = await start();
  for (const run of await Promise.all(polled)) expect(run.status).toBe('completed');
  expect((await uploaded).status).toBe('completed');
  await Promise.all([broken, brokenToo]);
  const run = await threads.runs.poll(runId, { thread_id: streamed.id }, poll);
  expect(run.status).toBe('completed');
  const again = client.responses.stream({ response_id: halfId, starting_after: 0 });
  const types: string[] = [];
  again.on('event', ({ type }) => types.push(type));
  await again.done();
  expect(types.at(-1)).toBe('response.failed');
});

it('continues ingestion after the written chunks in another process, and stores no chunk twice', async () => {
  const { server, upstream } = inference;
  await victim.kill();
  const settings = { ...server.settings, database: gate.settings };
  victim = await startGatewayProcess({ settings, trusted: upstream.host });
  const dying = clientAt(victim.inferenceUrl);
  const staying = clientAt(server.inferenceUrl);
  const sizes = { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 };
  const chunksOf = (moment: string) => {
    const text = Array.from({ length: 2_600 }, (_, n) => `${moment}${n}`).join(' ');
    return { text, chunks: splitText(text, { tokensMax: 100, overlapTokens: 0 }) };
  };
  unanswered.add(chunksOf('embed').chunks[32]!);
  const stores = new Map<ReadingMoment, { readonly store: string; readonly file: string }>();
  for (const moment of readingMoments) {
    const bytes = await toFile(Buffer.from(chunksOf(moment).text), 'words.txt');
    const file = await dying.files.create({ file: bytes, purpose: 'assistants' });
    const store = await dying.vectorStores.create({ name: moment });
    readings.set(store.id, moment);
    stores.set(moment, { store: store.id, file: file.id });
    await dying.vectorStores.files.create(store.id, {
      file_id: file.id,
      chunking_strategy: { type: 'static', static: sizes },
    });
  }
  await eventually(() => {
    expect([...heldReadings].sort()).toEqual(['end', 'forget', 'take', 'write']);
    expect([...unanswered]).toEqual([]);
  });
  await victim.kill();
  await endLeases();

  for (const [moment, { store, file }] of stores) {
    const { chunks } = chunksOf(moment);
    expect(chunks.length).toBeGreaterThan(64);
    const read = await staying.vectorStores.files.poll(store, file, { pollIntervalMs: 20 });
    expect(read.status, moment).toBe('completed');
    const { data } = await staying.vectorStores.files.content(file, { vector_store_id: store });
    expect(data.map(({ text }) => text)).toEqual(chunks);
    const requested = upstream.reached
      .filter(({ url }) => url.endsWith('/embeddings'))
      .flatMap(({ body }) => JSON.parse(body.toString()).input as string[]);
    const times = chunks.map((text) => requested.filter((one) => one === text).length);
    // Only unanswered or unwritten embeddings are requested again: one request of 32.
    const isAgain = moment === 'embed' || moment === 'write';
    expect(times, moment).toEqual(chunks.map((_, n) => (isAgain && n >= 32 && n < 64 ? 2 : 1)));
  }
});
