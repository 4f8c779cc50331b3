/**
 * Verifies that a batch reserves the sum of its requests before it is created, and is charged what
 * its results have used, once, when it has ended.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openProviderLists } from '../../../src/gateway/objects/provider-lists.ts';
import { settleOpenCharges } from '../../../src/jobs/settle-open-charges.ts';
import { keyUnits } from '../../support/rows/usage-rows.ts';
import { eventually } from '../../support/server/eventually.ts';
import { jobContext } from '../../support/server/job-context.ts';
import { logIsWritten } from '../../support/server/request-log.ts';
import { type SharedAccount, startSharedAccount } from '../../support/upstream/shared-account.ts';
import { sendJson, type TestUpstream } from '../../support/upstream/upstream.ts';

let shared: SharedAccount;
let lists: ReturnType<typeof openProviderLists>;
/** Contents of files at the provider, and batches, by id. */
let files: Map<string, string>;
let batches: Map<string, Record<string, unknown>>;
let made = 0;

const script: TestUpstream['script'] = ({ method, url, body }, answer) => {
  const { pathname } = new URL(url, 'http://any');
  const [, , kind, ...rest] = pathname.split('/');
  if (method === 'POST' && pathname.endsWith('/batches')) {
    const id = `batch_${++made}`;
    const isMessage = kind === 'messages';
    const stated = isMessage
      ? { id, type: 'message_batch', processing_status: 'in_progress' }
      : { id, object: 'batch', status: 'validating', usage: { input_tokens: 0, output_tokens: 0 } };
    batches.set(id, { ...stated, sent: body.length });
    return sendJson(answer, stated);
  }
  if (method === 'POST' && kind === 'files') {
    const id = `file-${++made}`;
    files.set(id, '');
    return sendJson(answer, { id, object: 'file' });
  }
  const id = rest.find((part) => /^(?:batch_|file-)/.test(part)) ?? '';
  if (rest.at(-1) === 'content' || rest.at(-1) === 'results') {
    const text = files.get(id);
    if (text === undefined) return sendJson(answer, { error: {} }, 404);
    return void answer.writeHead(200, { 'content-type': 'application/jsonl' }).end(text);
  }
  const batch = batches.get(id);
  if (batch === undefined) return sendJson(answer, { error: { message: 'none' } }, 404);
  sendJson(answer, batch);
};

beforeAll(async () => {
  shared = await startSharedAccount();
  const { server } = shared.inference;
  server.clock.set(Date.now());
  const { keyring, database } = server.app;
  lists = openProviderLists({
    database,
    clock: server.clock,
    trustedHosts: server.settings.trustedHosts,
    unsealerOf: keyring.unsealerOf,
    mayBeItself: false,
    onSecretFailure: () => {},
    onSecretRead: () => {},
  });
});

beforeEach(async () => {
  files = new Map();
  batches = new Map();
  shared.inference.upstream.script = script;
  shared.inference.upstream.reached.length = 0;
  await shared.inference.server.database.db.deleteFrom('open_charges').execute();
});

afterAll(async () => {
  await lists[Symbol.asyncDispose]();
  await shared[Symbol.asyncDispose]();
});

const cost = (credit_limit: number) => ({ usage_limits: { type: 'cost', credit_limit } });
const model = 'gpt-4o';
const units = (keyId: string) => keyUnits(shared.inference.server.database.db, keyId);
/** Charges that are not settled; some of them have no log row yet. */
const open = () =>
  shared.inference.server.database.db
    .selectFrom('open_charges')
    .selectAll()
    .where('used', 'is', null)
    .execute();

/** Runs the job after the next query is due. */
async function settle(): Promise<void> {
  const { clock, database } = shared.inference.server;
  clock.set(clock.now() + 3_600_000);
  await settleOpenCharges(lists).run(jobContext(database, clock.now()));
}

const chatLine = (id: string, params: object = {}) => ({
  custom_id: id,
  method: 'POST',
  url: '/v1/chat/completions',
  body: { model, max_tokens: 100, messages: [{ role: 'user', content: 'hello' }], ...params },
});

/** Uploads a file of the caller, and creates a batch of it. */
async function create(by: { readonly key: string }, lines: readonly (object | string)[]) {
  const form =
    '--x\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--x\r\ncontent-disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n{}\r\n--x--\r\n';
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const file = await shared.ask(by, 'POST', '/files', form, headers);
  expect(file.status).toBe(200);
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
  files.set(file.body.id, `${text.join('\n')}\n`);
  const answer = await shared.ask(by, 'POST', '/batches', {
    input_file_id: file.body.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  });
  return { answer, text };
}

/** Micro-dollars of a result in a batch: half of 2.5 and 10 dollars per million tokens. */
const journal = (input: number, output: number): number =>
  Math.ceil((input * 2.5 + output * 10) / 2);
const chatResult = (id: string, prompt_tokens: number, completion_tokens: number) => ({
  custom_id: id,
  response: {
    status_code: 200,
    body: { object: 'chat.completion', model, usage: { prompt_tokens, completion_tokens } },
  },
});
const fileOf = (lines: readonly object[]): string =>
  lines.map((one) => JSON.stringify(one)).join('\n');

describe('a batch under a limit of cost', () => {
  it('reserves the sum of its lines, and is charged its results at half the price when it ends', async () => {
    const by = await shared.tenant('batch', cost(100));
    const { answer, text } = await create(by, [chatLine('a'), chatLine('b')]);
    expect(answer).toMatchObject({ status: 200, body: { object: 'batch' } });
    const bound = text
      .map((line) => Math.ceil(Buffer.byteLength(line) * 2.5 + 100 * 10))
      .reduce((sum, one) => sum + one);
    await eventually(async () => expect(await units(by.keyId)).toBe(bound));
    await settle();
    expect(await open()).toHaveLength(1);
    expect(await units(by.keyId)).toBe(bound);
    files.set('file-out', fileOf([chatResult('a', 11, 7), chatResult('b', 13, 30)]));
    Object.assign(batches.get(answer.body.id)!, {
      status: 'completed',
      output_file_id: 'file-out',
    });
    await settle();
    await settle();
    expect(await units(by.keyId)).toBe(journal(11, 7) + journal(13, 30));
    await logIsWritten(shared.inference.server);
    const { body } = await shared.inference.server.request(
      'GET',
      `/v1/logs?api_key_id=${by.keyId}`,
    );
    const row = body.data.find(({ endpoint }: { endpoint: string }) => endpoint === 'batches');
    expect(row).toMatchObject({
      input_tokens: 24,
      output_tokens: 37,
      is_estimated: false,
      price_source: 'table',
      cost: (journal(11, 7) + journal(13, 30)) / 1_000_000,
    });
    expect(await open()).toEqual([]);
  });

  it.each(['expired', 'cancelled', 'failed'])(
    'releases what a batch that has %s did not use',
    async (status) => {
      const by = await shared.tenant(`batch ${status}`, cost(100));
      const { answer } = await create(by, [chatLine('a'), chatLine('b')]);
      await eventually(async () => expect(await units(by.keyId)).toBeGreaterThan(0));
      const isFailed = status === 'failed';
      files.set('file-part', fileOf([chatResult('a', 11, 7)]));
      const output_file_id = isFailed ? null : 'file-part';
      Object.assign(batches.get(answer.body.id)!, { status, output_file_id });
      await settle();
      expect(await units(by.keyId)).toBe(isFailed ? 0 : journal(11, 7));
      expect(await open()).toEqual([]);
    },
  );

  it('is settled once by concurrent jobs', async () => {
    const by = await shared.tenant('batch twice', cost(100));
    const { answer } = await create(by, [chatLine('a')]);
    await eventually(async () => expect(await open()).toHaveLength(1));
    files.set('file-once', fileOf([chatResult('a', 11, 7)]));
    Object.assign(batches.get(answer.body.id)!, {
      status: 'completed',
      output_file_id: 'file-once',
    });
    const { clock, database } = shared.inference.server;
    clock.set(clock.now() + 3_600_000);
    const run = () => settleOpenCharges(lists).run(jobContext(database, clock.now()));
    await Promise.all([run(), run(), run()]);
    await settle();
    expect(await units(by.keyId)).toBe(journal(11, 7));
  });

  it('keeps its reservation where a result reports no usage', async () => {
    const by = await shared.tenant('batch unsaid', cost(100));
    const { answer } = await create(by, [chatLine('a')]);
    await eventually(async () => expect(await units(by.keyId)).toBeGreaterThan(0));
    const reserved = await units(by.keyId);
    const silent = { custom_id: 'a', response: { status_code: 200, body: { model } } };
    files.set('file-silent', fileOf([silent]));
    Object.assign(batches.get(answer.body.id)!, {
      status: 'completed',
      output_file_id: 'file-silent',
    });
    await settle();
    expect(await units(by.keyId)).toBe(reserved);
  });

  it.each<[string, readonly (object | string)[], RegExp]>([
    ['has no maximum of its output', [chatLine('a', { max_tokens: undefined })], /sets no max_/],
    ['names two models', [chatLine('a'), chatLine('b', { model: 'gpt-4o-mini' })], /another model/],
    ['names no model', [chatLine('a', { model: undefined })], /names no model/],
    ['has a tool of the provider', [chatLine('a', { web_search_options: {} })], /a tool/],
    ['repeats a member', ['{"url":"/v1/x","body":{"max_tokens":1,"max_tokens":9}}'], /occur once/],
    ['is for an unbounded endpoint', [{ ...chatLine('a'), url: '/v1/videos' }], /not bounded/],
    [
      'hides a member in escapes',
      ['{"url":"/v1/x","b\\"ody":{},"body":{"a":"x\\":1","a":2}}'],
      /occur once/,
    ],
    ['is no JSON', ['nothing'], /line 1/],
    ['has no lines', [], /no requests/],
  ])('is refused when it %s', async (_, lines, message) => {
    const by = await shared.tenant('batch refused', cost(100));
    const { answer } = await create(by, lines);
    expect(answer).toMatchObject({ status: 403, body: { error: { code: 'usage_unbounded' } } });
    expect(answer.body.error.message).toMatch(message);
    expect(batches.size).toBe(0);
  });

  it('is refused when the limit does not cover all of its requests', async () => {
    const by = await shared.tenant('batch large', cost(1));
    const lines = Array.from({ length: 60 }, (_, at) =>
      chatLine(String(at), { max_tokens: 2_000 }),
    );
    expect((await create(by, lines)).answer.status).toBe(412);
    expect(batches.size).toBe(0);
  });
});

describe('a batch under a limit of tokens', () => {
  const tokens = (credit_limit: number) => ({ usage_limits: { type: 'tokens', credit_limit } });
  const lines = [
    chatLine('a'),
    chatLine('b', { n: 3 }),
    chatLine('c', { max_tokens: undefined, max_completion_tokens: 700 }),
    // A provider may follow the larger of two limits.
    chatLine('d', { max_completion_tokens: 50 }),
  ];
  const outputs = 100 + 3 * 100 + 700 + 100;
  const bound = lines
    .map((line) => Buffer.byteLength(JSON.stringify(line)))
    .reduce((sum, bytes) => sum + bytes, outputs);

  it('reserves the output bound of each line, with its number of choices', async () => {
    const by = await shared.tenant('batch tokens', tokens(bound));
    expect((await create(by, lines)).answer.status).toBe(200);
    await eventually(async () => expect(await units(by.keyId)).toBe(bound));
  });

  it('is refused where the limit is one token below the sum of the bounds', async () => {
    const by = await shared.tenant('batch tokens less', tokens(bound - 1));
    expect((await create(by, lines)).answer.status).toBe(412);
    expect(batches.size).toBe(0);
    expect(await units(by.keyId)).toBe(0);
  });

  it.each<[string, object, RegExp]>([
    ['no maximum', { max_tokens: undefined }, /request 2 sets no max_/],
    ['a maximum below zero', { max_tokens: -1 }, /request 2 sets max_tokens to more/],
    ['a larger maximum of another format', { maxTokens: 50_000 }, /request 2 sets maxTokens/],
    ['a maximum that is no number', { max_tokens: '9' }, /max_tokens of its request 2/],
    ['a maximum of null', { max_tokens: null }, /request 2 sets no max_tokens/],
    ['a number of choices that is no number', { n: '3' }, /n of its request 2/],
  ])('is refused where the second of its lines has %s', async (_, params, message) => {
    const by = await shared.tenant('batch tokens wrong', tokens(1_000_000));
    const { answer } = await create(by, [chatLine('a'), chatLine('b', params)]);
    expect(answer).toMatchObject({ status: 403, body: { error: { code: 'usage_unbounded' } } });
    expect(answer.body.error.message).toMatch(message);
    expect(batches.size).toBe(0);
  });
});

describe('a batch of messages under a limit of cost', () => {
  it('reserves its requests, and is charged its results', async () => {
    const by = await shared.anthropicTenant('message batch', cost(100));
    const params = { model: 'claude-sonnet-4-5', max_tokens: 100, messages: [] };
    const requests = ['a', 'b', 'c'].map((custom_id) => ({ custom_id, params }));
    const answer = await shared.ask(by, 'POST', '/messages/batches', { requests });
    expect(answer.status).toBe(200);
    const bytes = Buffer.byteLength(JSON.stringify(params));
    // Input at the price of cache writes for an hour, 6 dollars, and output at 15.
    const bound = 3 * (bytes * 6 + 100 * 15);
    await eventually(async () => expect(await units(by.keyId)).toBe(bound));
    const succeeded = (usage: object) => ({
      result: { type: 'succeeded', message: { type: 'message', model: params.model, usage } },
    });
    Object.assign(batches.get(answer.body.id)!, { processing_status: 'ended' });
    const usage = { input_tokens: 10, output_tokens: 20, cache_read_input_tokens: 100 };
    const failed = ['errored', 'expired'].map((type) => ({ result: { type } }));
    files.set(answer.body.id, fileOf([succeeded({ ...usage, service_tier: 'batch' }), ...failed]));
    await settle();
    // Half of 3, 15 and 0.3 dollars per million tokens.
    expect(await units(by.keyId)).toBe((10 * 3 + 20 * 15 + 100 * 0.3) / 2);
    expect(await open()).toEqual([]);
  });
});
