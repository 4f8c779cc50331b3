/**
 * Verifies that an object whose creation response was lost gets its requester as owner, and nobody
 * else.
 */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { openProviderLists } from '../../../src/gateway/objects/provider-lists.ts';
import { findLostObjects } from '../../../src/jobs/find-lost-objects.ts';
import type { ProviderLists } from '../../../src/objects/listed-objects.ts';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { jobContext } from '../../support/server/job-context.ts';
import { sendJson, type TestUpstream } from '../../support/upstream/upstream.ts';

type ReachedRequest = Parameters<TestUpstream['script']>[0];
type StoredObject = { id: string; created_at: number; metadata?: Record<string, unknown> };

let inference: Inference;
let ours: string;
let theirs: string;
let lists: ReturnType<typeof openProviderLists>;
/** The objects of the one account, the newest last. */
let stored: StoredObject[] = [];
let made = 0;
/** Decides how the provider responds to the next creation. */
let fate: 'answer' | 'cut' | 'fail' | 'refuse' = 'answer';
/** Whether the provider stores metadata, and the length of its pages. */
let terms = { keepsMetadata: true, pageMax: 100, heedsCursor: true };
const minuteMs = 60_000;

const create = (body: Buffer): StoredObject => {
  const { metadata, ...stated } = JSON.parse(body.toString() || '{}');
  made += 1;
  return {
    id: `vs_${made}`,
    created_at: Math.floor(inference.server.clock.now() / 1000),
    ...stated,
    ...(terms.keepsMetadata ? { metadata: metadata ?? {} } : {}),
  };
};

const script: TestUpstream['script'] = ({ method, url, body }: ReachedRequest, response) => {
  const { pathname, searchParams } = new URL(url, 'http://any');
  const [, , , id] = pathname.split('/');
  if (method === 'GET' && id === undefined) {
    const all = stored.toReversed();
    const after = terms.heedsCursor ? searchParams.get('after') : null;
    const from = after === null ? 0 : all.findIndex((one) => one.id === after) + 1;
    const data = all.slice(from, from + terms.pageMax);
    return sendJson(response, { data, has_more: from + data.length < all.length });
  }
  const known = stored.find((one) => one.id === id);
  if (id !== undefined) {
    if (known === undefined) return sendJson(response, { error: {} }, 404);
    if (method === 'POST') Object.assign(known, JSON.parse(body.toString()));
    return sendJson(response, known);
  }
  if (fate === 'refuse') return sendJson(response, { error: { message: 'no' } }, 400);
  const one = create(body);
  stored.push(one);
  if (fate === 'cut') return void response.destroy();
  if (fate === 'fail') return sendJson(response, { error: { message: 'late' } }, 502);
  sendJson(response, one);
};

beforeAll(async () => {
  inference = await startInference();
  const { server, upstream } = inference;
  server.clock.set(Date.now());
  const post = async (path: string, body: object) =>
    (await server.request('POST', path, { body })).body;
  const integration = await post('/v1/integrations', {
    name: 'Shared',
    slug: 'shared',
    ai_provider_id: 'openai',
    key: 'sk-shared',
    configurations: { custom_host: upstream.url },
    capabilities: { assistants: 'proxy' },
  });
  const tenant = async (name: string): Promise<string> => {
    const workspace = await post('/v2/workspaces', { name });
    const fields = { integration_id: integration.id, workspace_id: workspace.id };
    const { slug } = await post('/v1/providers', { name, ...fields });
    const retry = { attempts: 2, on_status_codes: [429] };
    const config = await post('/v2/configs', {
      name,
      workspace_id: workspace.id,
      config: { provider: `@${slug}`, retry },
    });
    const defaults = { config_id: config.slug };
    return (await inference.addKey({ workspace_id: workspace.id, defaults })).key;
  };
  ours = await tenant('ours');
  theirs = await tenant('theirs');
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
  stored = [];
  fate = 'answer';
  terms = { keepsMetadata: true, pageMax: 100, heedsCursor: true };
  inference.upstream.script = script;
  await inference.server.database.db.deleteFrom('pending_objects').execute();
});

afterAll(async () => {
  await lists[Symbol.asyncDispose]();
  await inference[Symbol.asyncDispose]();
});

function ask(key: string, method: string, path: string, body?: unknown, headers: object = {}) {
  const url = `${inference.server.inferenceUrl}/v1${path}`;
  return exchange(method, url, body, { authorization: `Bearer ${key}`, ...headers });
}

function run(from: ProviderLists = lists) {
  const { database, clock } = inference.server;
  return findLostObjects(from).run(jobContext(database, clock.now()));
}

const idsOf = async (key: string, kind = 'vector_stores') =>
  (await ask(key, 'GET', `/${kind}`)).body.data.map(({ id }: StoredObject) => id);

const pending = () =>
  inference.server.database.db.selectFrom('pending_objects').selectAll().execute();

const nothing = { found: 0, unfound: 0, postponed: 0 };

it('carries a marker for its provider, is otherwise unchanged, and is returned without the marker', async () => {
  const stated =
    '{"name" : "a",\n "metadata":{"k":"v", "n":"12345678901234567890"} ,"big":12345678901234567890}';
  const answer = await ask(ours, 'POST', '/vector_stores', stated, {
    'content-type': 'application/json',
  });
  const { id, metadata } = answer.body;
  expect(metadata).toEqual({ k: 'v', n: '12345678901234567890' });
  const sent = inference.upstream.reached.at(-1)!.body.toString();
  const mark = /,"gatewright_mark":"[0-9a-f]{32}"/.exec(sent)![0];
  expect(sent.replace(mark, '').replace('"k":"v","n"', '"k":"v", "n"')).toBe(stated);
  const [listed] = (await ask(ours, 'GET', '/vector_stores')).body.data;
  const reported = await ask(ours, 'GET', `/vector_stores/${id}`);
  const changed = await ask(ours, 'POST', `/vector_stores/${id}`, { name: 'b' });
  for (const visible of [listed, reported.body, changed.body])
    expect(visible.metadata).toEqual(metadata);
  const full = Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`k${at}`, 'v']));
  await ask(ours, 'POST', '/vector_stores', { metadata: full });
  expect(stored.at(-1)!.metadata).toEqual(full);
  expect(await pending()).toEqual([]);
  // A retry with the same idempotency key must be identical.
  const bodies: string[] = [];
  for (const key of ['once', 'once', 'twice']) {
    await ask(ours, 'POST', '/assistants', { model: 'm' }, { 'idempotency-key': key });
    bodies.push(inference.upstream.reached.at(-1)!.body.toString());
  }
  expect(bodies[1]).toBe(bodies[0]);
  expect(bodies[2]).not.toBe(bodies[0]);
});

it('gets its owner a minute after an aborted or failed response, also behind pages of other objects', async () => {
  for (const one of ['cut', 'fail'] as const) {
    fate = one;
    const { status } = await ask(ours, 'POST', '/vector_stores', { name: one });
    expect(status).toBeGreaterThan(500);
  }
  fate = 'refuse';
  expect(await ask(ours, 'POST', '/vector_stores', {})).toMatchObject({ status: 400 });
  fate = 'answer';
  const [first, second] = stored.map(({ id }) => id);
  for (let at = 0; at < 250; at += 1) stored.push(create(Buffer.from('')));
  terms.pageMax = 20;
  expect(await pending()).toHaveLength(2);
  expect(await run()).toEqual(nothing);
  inference.server.clock.advance(minuteMs);
  const runs = await Promise.all([run(), run()]);
  expect(runs.reduce((sum, counts) => sum + counts.found!, 0)).toBe(2);
  expect(new Set(await idsOf(ours))).toEqual(new Set([first, second]));
  expect(await ask(theirs, 'GET', `/vector_stores/${first}`)).toMatchObject({ status: 404 });
  await ask(ours, 'DELETE', `/vector_stores/${first}`);
  stored = stored.filter(({ id }) => id !== first);
  inference.server.clock.advance(60 * minuteMs);
  expect(await run()).toEqual(nothing);
  expect(await pending()).toEqual([]);
});

it('is recorded when the caller disconnects before the response, once when response and job find it together', async () => {
  const { promise: isRequested, resolve: requested } = Promise.withResolvers<void>();
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
  inference.upstream.script = async (request, response) => {
    if (request.method === 'POST') {
      stored.push(create(request.body));
      requested();
      await mayAnswer;
      return sendJson(response, stored.at(-1));
    }
    return script(request, response);
  };
  const leaving = new AbortController();
  const left = fetch(`${inference.server.inferenceUrl}/v1/assistants`, {
    method: 'POST',
    body: '{"model":"m"}',
    signal: leaving.signal,
    headers: { authorization: `Bearer ${ours}`, 'content-type': 'application/json' },
  }).catch((error: unknown) => error);
  await isRequested;
  leaving.abort();
  expect(await left).toBeInstanceOf(Error);
  inference.server.clock.advance(minuteMs);
  expect(await run()).toMatchObject({ found: 1 });
  answer();
  await eventually(async () => expect(await pending()).toEqual([]));
  expect(await idsOf(ours, 'assistants')).toContain(stored[0]!.id);
});

it('is reported as not found after an hour when no list contains it', async () => {
  fate = 'cut';
  terms = { keepsMetadata: false, pageMax: 1, heedsCursor: false };
  await ask(ours, 'POST', '/vector_stores', {});
  await ask(ours, 'POST', '/threads', {});
  await ask(theirs, 'POST', '/conversations', {});
  inference.server.clock.advance(minuteMs);
  expect(await run()).toEqual(nothing);
  expect((await pending()).map(({ kind, mark }) => [kind, mark !== null])).toEqual(
    expect.arrayContaining([
      ['vector_stores', true],
      ['threads', false],
      ['conversations', false],
    ]),
  );
  inference.server.clock.advance(60 * minuteMs);
  expect(await run()).toEqual({ ...nothing, unfound: 3 });
  expect(await run()).toEqual(nothing);
  expect(await idsOf(ours)).not.toContain(stored[0]!.id);
});

it('is searched again for a day when the provider is unavailable', async () => {
  fate = 'cut';
  await ask(ours, 'POST', '/vector_stores', {});
  inference.upstream.script = (_, response) => sendJson(response, { error: {} }, 500);
  inference.server.clock.advance(61 * minuteMs);
  expect(await run()).toEqual({ ...nothing, postponed: 1 });
  expect(await run()).toEqual(nothing);
  inference.server.clock.advance(60 * minuteMs);
  inference.upstream.script = script;
  expect(await run()).toEqual({ ...nothing, found: 1 });
  expect(await idsOf(ours)).toContain(stored[0]!.id);
  await ask(ours, 'POST', '/vector_stores', {});
  inference.upstream.script = (_, response) => sendJson(response, { error: {} }, 500);
  inference.server.clock.advance(25 * 60 * minuteMs);
  expect(await run()).toEqual({ ...nothing, unfound: 1 });
  expect(await pending()).toEqual([]);
});

it('is not created when it cannot be recorded, and is found later when the database fails meanwhile', async () => {
  const { db } = inference.server.database;
  const rename = (from: string, to: string) => db.schema.alterTable(from).renameTo(to).execute();
  await rename('pending_objects', 'away');
  const reached = inference.upstream.reached.length;
  expect((await ask(ours, 'POST', '/vector_stores', {})).status).toBe(500);
  expect(inference.upstream.reached).toHaveLength(reached);
  await rename('away', 'pending_objects');
  inference.upstream.script = async (request, response) => {
    if (request.method === 'POST') await rename('owned_objects', 'away');
    await script(request, response);
  };
  expect((await ask(ours, 'POST', '/vector_stores', {})).status).toBe(500);
  await rename('away', 'owned_objects');
  inference.upstream.script = script;
  inference.server.clock.advance(minuteMs);
  expect(await run()).toEqual({ ...nothing, found: 1 });
  expect(await idsOf(ours)).toContain(stored[0]!.id);
});
