/**
 * Verifies routes that are served on both listeners for clients with one address: prompts on the
 * Admin API, feedback and reported requests on the gateway.
 */
import { sql } from 'kysely';
import { Portkey } from 'portkey-ai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { createLog } from '../../../src/log.ts';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { logIsWritten } from '../../support/server/request-log.ts';
import { type TestServer, testSettings } from '../../support/server/server.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;
let server: TestServer;
let key: string;
let workspaceId: string;
let slug: string;

beforeAll(async () => {
  const settings = { ...testSettings().inference, headerAliases: ['x-portkey-'] };
  inference = await startInference({ inference: settings });
  ({ server } = inference);
  const make = async (path: string, body: object) =>
    (await server.request('POST', path, { body })).body;
  ({ id: workspaceId } = await make('/v2/workspaces', { name: 'Team' }));
  const configurations = { custom_host: inference.upstream.url };
  const account = { name: 'M', ai_provider_id: 'mock-upstream', key: 'k', configurations };
  const { id: integration_id } = await make('/v1/integrations', account);
  const place = { workspace_id: workspaceId };
  const provider = await make('/v1/providers', { name: 'm', integration_id, ...place });
  const string = JSON.stringify([{ role: 'user', content: 'Hello {{name}}' }]);
  const parameters = { model: 'm', temperature: 0.5 };
  const prompt = { name: 'greeting', string, parameters, virtual_key: provider.slug, ...place };
  ({ slug } = await make('/v1/prompts', prompt));
  const scopes = ['completions.write', 'logs.write', 'logs.view'];
  ({ key } = await inference.addKey({ scopes, workspace_id: workspaceId }));
});
afterAll(() => inference[Symbol.asyncDispose]());
beforeEach(() => {
  inference.upstream.reached.length = 0;
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
});

const variables = { name: 'Anna' };
const asking = (headers: Record<string, string>, url = server.url, body: object = { variables }) =>
  exchange('POST', `${url}/v1/prompts/${slug}/completions`, body, headers);
const lastProviderBody = () => JSON.parse(inference.upstream.reached.at(-1)!.body.toString());

describe('prompts on the listener of the Admin API', () => {
  it.each(['x-gateway-api-key', 'x-portkey-api-key', 'authorization'])(
    'is run with a key in %s',
    async (name) => {
      const answer = await asking({ [name]: name === 'authorization' ? `Bearer ${key}` : key });
      expect([answer.status, answer.body.choices[0].message.content]).toEqual([200, 'hi']);
      expect(lastProviderBody()).toMatchObject({
        messages: [{ content: 'Hello Anna' }],
        model: 'm',
      });
      const { authorization } = inference.upstream.reached[0]!.headers;
      expect(authorization).toBe('Bearer k');
    },
  );

  it('is streamed to an unmodified client, event by event', async () => {
    const { promise: isSeen, resolve: goOn } = Promise.withResolvers<void>();
    inference.upstream.script = async (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const part = (content: string) =>
        `data: ${JSON.stringify({ ...chatAnswer, choices: [{ index: 0, delta: { content } }] })}\n\n`;
      response.write(part('one'));
      // The rest is sent only after the client has received the first part.
      await isSeen;
      response.end(`${part('two')}data: [DONE]\n\n`);
    };
    const client = new Portkey({ apiKey: key, baseURL: `${server.url}/v1` });
    const stream = await client.prompts.completions.create({
      promptID: slug,
      variables,
      stream: true,
    });
    const seen: unknown[] = [];
    for await (const { choices } of stream as unknown as AsyncIterable<typeof chatAnswer>) {
      seen.push((choices[0] as unknown as { delta: { content: string } }).delta.content);
      goOn();
    }
    expect(seen).toEqual(['one', 'two']);
  });

  it('returns the errors of the gateway', async () => {
    const unknown = await asking({ 'x-gateway-api-key': 'a'.repeat(32) });
    expect([unknown.status, unknown.body.error.code]).toEqual([401, 'invalid_api_key']);
    expect((await asking({ authorization: `Bearer ${await server.token()}` })).status).toBe(401);
    const other = await exchange(
      'POST',
      `${server.url}/v1/prompts/none/completions`,
      {},
      {
        'x-gateway-api-key': key,
      },
    );
    expect(other.status).toBe(404);
    const large = await asking({ 'x-gateway-api-key': key }, server.url, { variables: [] });
    expect([large.status, large.body.error.param]).toEqual([400, 'variables']);
    expect(inference.upstream.reached).toEqual([]);
  });

  it('is counted and logged by route pattern of that listener, without ids', async () => {
    await asking({ 'x-gateway-api-key': key });
    const route = '/v1/prompts/:promptId/completions';
    await eventually(async () => {
      expect(server.logLines.some((line) => line.includes(`"route":"${route}"`))).toBe(true);
    });
    const figures = await (await fetch(`${server.metricsUrl}/metrics`)).text();
    expect(figures).toContain(`route="${route}"`);
  });

  it('is found, aggregated and exported in the request log by slug and by metadata', async () => {
    const trace = { 'x-gateway-api-key': key, 'x-gateway-trace-id': 'of-a-prompt' };
    const metadata = { client_id: 'c', app: 'letters', round: 2 };
    expect((await asking(trace, server.url, { variables, metadata })).status).toBe(200);
    expect(lastProviderBody()).not.toHaveProperty('metadata');
    await inference.chat(key, { headers: { 'x-gateway-trace-id': 'of-a-prompt' } });
    await logIsWritten(server);
    const place = `workspace_slug=${workspaceId}&trace_id=of-a-prompt`;
    const rows = (await server.request('GET', '/v1/logs?trace_id=of-a-prompt')).body.data;
    // The longer request ends last.
    expect(rows).toHaveLength(2);
    expect(rows).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ prompt_slug: null, metadata: {} }),
        expect.objectContaining({ prompt_slug: slug, metadata }),
      ]),
    );
    const groups = await server.request('GET', `/v1/analytics/groups/prompt?${place}`);
    expect(groups.body).toMatchObject({
      total: 2,
      data: expect.arrayContaining([
        expect.objectContaining({ prompt: slug, requests: 1 }),
        expect.objectContaining({ prompt: null, requests: 1 }),
      ]),
    });
    const summary = async (requested: string) =>
      (await server.request('GET', `/v1/analytics/summary?${place}&${requested}`)).body.requests;
    expect([await summary(`prompt_slug=${slug}`), await summary('prompt_slug=no,none')]).toEqual([
      1, 0,
    ]);
    const boundaries = await server.request(
      'GET',
      `/v2/analytics/filter-boundaries?workspaceSlug=${workspaceId}`,
    );
    expect(boundaries.body.data.unique_prompt_ids).toEqual([slug]);
  });

  it('sends valid metadata to a provider that stores the response', async () => {
    const headers = { 'x-gateway-api-key': key, 'x-gateway-metadata': '{"app":"header"}' };
    const store = { variables, store: true, metadata: { app: 'body', team: 'a' } };
    await asking({ ...headers, 'x-gateway-trace-id': 'both' }, server.url, store);
    expect(lastProviderBody().metadata).toEqual({ app: 'body', team: 'a' });
    await logIsWritten(server);
    const [row] = (await server.request('GET', '/v1/logs?trace_id=both')).body.data;
    expect(row.metadata).toEqual({ app: 'header', team: 'a' });
    for (const metadata of ['text', { a: { b: 1 } }, { a: 'x'.repeat(129) }]) {
      const { status, body } = await asking(headers, server.url, { variables, metadata });
      expect([status, body.error.param]).toEqual([400, 'metadata']);
    }
  });
});

describe('the listener of the gateway', () => {
  const client = () => new Portkey({ apiKey: key, baseURL: `${server.inferenceUrl}/v1` });
  const send = (method: string, path: string, body: object, headers: Record<string, string>) =>
    exchange(method, `${server.inferenceUrl}/v1${path}`, body, headers);

  it('accepts feedback, its updates and reported requests from an unmodified client', async () => {
    const given = (await client().feedback.create({
      traceID: 'there',
      value: 5,
      weight: 1,
      metadata: { by: 'anna' },
    })) as unknown as { status: string; feedback_ids: string[] };
    expect(given.status).toBe('success');
    const [feedbackID] = given.feedback_ids as [string];
    await client().feedback.update({ feedbackID, value: 3 });
    const read = await server.request('GET', `/v1/feedback/${feedbackID}`);
    expect(read.body).toMatchObject({ value: 3, workspace_id: workspaceId, trace_id: 'there' });
    const reported = (await client().logs.create({
      request: { provider: 'openai' },
      response: {},
      metadata: { traceId: 'there' },
    })) as unknown as { log_ids: string[] };
    const row = await server.request('GET', `/v1/logs/${reported.log_ids[0]}`);
    expect(row.body).toMatchObject({ is_reported: true, feedback: [{ id: feedbackID, value: 3 }] });
    expect(inference.upstream.reached).toEqual([]);
  });

  it.each<Record<string, string>>([
    { 'x-gateway-api-key': '' },
    { authorization: 'Bearer ' },
    { 'x-api-key': '' },
    { 'x-portkey-api-key': '', authorization: 'Bearer of-a-provider', cookie: 'session=1' },
  ])('accepts a key as for inference: %j', async (shape) => {
    const [first = ''] = Object.keys(shape);
    const headers = { ...shape, [first]: first === 'authorization' ? `Bearer ${key}` : key };
    const answer = await send('POST', '/feedback', { trace_id: 't', value: 1 }, headers);
    expect([answer.status, answer.body.status]).toEqual([200, 'success']);
  });

  it('returns the errors of the Admin API to unauthorised callers, and logs no row', async () => {
    const countRows = async () => {
      await logIsWritten(server);
      const { rows } = await sql<{ count: number }>`
        SELECT COUNT(*) AS count FROM request_logs`.execute(server.database.db);
      return Number(rows[0]!.count);
    };
    const before = await countRows();
    const feedback = { trace_id: 't', value: 1 };
    expect((await send('POST', '/feedback', feedback, {})).status).toBe(401);
    const nobody = { authorization: `Bearer ${'b'.repeat(32)}` };
    const { status, body } = await send('POST', '/feedback', feedback, nobody);
    expect([status, body.data.errorCode]).toEqual([401, 'AB05']);
    const own = { 'x-gateway-api-key': key };
    const wrong = await send('POST', '/feedback?a=b', { trace_id: 't', value: 11 }, own);
    expect([wrong.status, wrong.body.error.code]).toEqual([400, 'AB01']);
    const { key: other } = await inference.addKey({ scopes: ['completions.write'] });
    const ofOther = { 'x-gateway-api-key': other };
    expect((await send('POST', '/logs', { request: {}, response: {} }, ofOther)).status).toBe(403);
    expect(await countRows()).toBe(before);
  });

  it('forwards no other method or similar path, because none is a known endpoint', async () => {
    const config = { provider: 'mock-upstream', custom_host: inference.upstream.url };
    const headers = { 'x-gateway-api-key': key, 'x-gateway-config': JSON.stringify(config) };
    for (const [method, path] of [
      ['GET', '/feedback'],
      ['POST', '/feedbacks'],
      ['PUT', '/logs'],
    ] as const) {
      const url = `${server.inferenceUrl}/v1${path}`;
      const { status, body } = await exchange(
        method,
        url,
        method === 'GET' ? undefined : {},
        headers,
      );
      expect([status, body.error.code]).toEqual([404, 'endpoint_unknown']);
    }
    expect(inference.upstream.reached).toEqual([]);
  });
});

it('returns 404 in a process without inference, and accepts feedback in one without the Admin API', async () => {
  const log = createLog({ level: 'silent' });
  const shared = { log, clock: server.clock, readSharedTime: async () => server.clock.now() };
  await using admin = await createApp(server.settings, { ...shared, components: ['admin'] });
  await using gateway = await createApp(server.settings, { ...shared, components: ['gateway'] });
  const headers = { 'x-gateway-api-key': key };
  const { adminUrl } = await admin.listen();
  expect((await asking(headers, adminUrl!)).status).toBe(404);
  const { inferenceUrl } = await gateway.listen();
  const url = `${inferenceUrl}/v1/feedback`;
  const taken = await Promise.all(
    Array.from({ length: 8 }, (_, value) =>
      exchange('POST', url, { trace_id: 'apart', value }, headers),
    ),
  );
  expect(taken.map(({ status }) => status)).toEqual(taken.map(() => 200));
});
