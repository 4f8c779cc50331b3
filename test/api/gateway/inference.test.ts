/**
 * Verifies inference requests: authentication, forwarding to the provider, responses, streams and
 * errors.
 */
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as open } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import {
  chatAnswer,
  sendJson,
  startUpstream,
  type TestUpstream,
} from '../../support/upstream/upstream.ts';

let server: TestServer;
let upstream: TestUpstream;
let key: string;

const chat = { model: 'gpt-test', messages: [{ role: 'user', content: 'hello' }] };

beforeAll(async () => {
  upstream = await startUpstream();
  const trusted = readTrustedHosts(upstream.host);
  server = await startTestServer({
    settings: { trustedHosts: 'hosts' in trusted ? trusted.hosts : [] },
  });
  ({ key } = await addKey());
});

beforeEach(() => {
  upstream.reached.length = 0;
  upstream.script = (_, response) => sendJson(response, chatAnswer);
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

async function addKey(more: object = {}): Promise<{ key: string; id: string }> {
  const made = await server.request('POST', '/v1/api-keys/organisation/service', {
    body: { name: 'caller', scopes: ['completions.write'], ...more },
  });
  expect(made.status).toBe(200);
  return made.body;
}

const inline = (config: object = {}): Record<string, string> => ({
  'x-gateway-config': JSON.stringify({
    provider: 'openai',
    api_key: 'sk-provider',
    custom_host: upstream.url,
    ...config,
  }),
});

function send(
  headers: Record<string, string>,
  { body = chat as unknown, path = '/v1/chat/completions', method = 'POST' } = {},
) {
  const sent = method === 'POST' ? body : undefined;
  return exchange(method, server.inferenceUrl + path, sent, headers);
}

const bearer = (value = key): Record<string, string> => ({ authorization: `Bearer ${value}` });

describe('an inference request', () => {
  it('reaches the provider with unchanged bytes, the credential of the provider, and nothing of the gateway', async () => {
    const body =
      '{ "model":"gpt-test",\n "messages":[{"role":"user","content":"h\\u00e9"}], "seed": 1.0 }';
    const answer = await send(
      {
        ...bearer(),
        ...inline(),
        'content-type': 'application/json',
        cookie: 'session=1',
        'x-forwarded-for': '10.0.0.1',
        'x-secret-thing': 'no',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      },
      { body },
    );
    expect(answer).toMatchObject({ status: 200, body: chatAnswer });
    const [one] = upstream.reached;
    expect(one!.body.toString()).toBe(body);
    expect(one!.url).toBe('/v1/chat/completions');
    expect(Object.keys(one!.headers).toSorted()).toEqual([
      'authorization',
      'connection',
      'content-length',
      'content-type',
      'host',
      'traceparent',
    ]);
    expect(one!.headers.authorization).toBe('Bearer sk-provider');
    expect(JSON.stringify(one!.rawHeaders)).not.toContain(key);
  });

  it('never forwards the gateway key, whatever headers are forwarded', async () => {
    const forward = { 'x-gateway-forward-headers': 'authorization,x-api-key,x-copy,x-mine' };
    const config = inline({ api_key: undefined });
    await send({ ...bearer(), ...config, ...forward, 'x-copy': `<${key}>`, 'x-mine': 'yes' });
    await send({ 'x-api-key': key, ...config, ...forward });
    expect(upstream.reached).toHaveLength(2);
    expect(upstream.reached[0]!.headers).toMatchObject({ 'x-mine': 'yes' });
    for (const { rawHeaders } of upstream.reached) {
      expect(rawHeaders.join('\n')).not.toContain(key);
    }
  });

  it('requests no content encoding for a stream, because its events must be readable', async () => {
    const coded = { 'x-gateway-forward-headers': 'Accept-Encoding', 'accept-encoding': 'gzip' };
    for (const stream of [false, true]) {
      const body = JSON.stringify({ model: 'gpt-test', messages: [], stream });
      await send({ ...bearer(), ...inline(), ...coded }, { body });
    }
    expect(upstream.reached.map(({ headers }) => headers['accept-encoding'])).toEqual([
      'gzip',
      undefined,
    ]);
  });

  it.each([
    ['a bearer', () => bearer()],
    ['x-gateway-api-key', () => ({ 'x-gateway-api-key': key })],
    ['x-api-key, as clients of Anthropic send it', () => ({ 'x-api-key': key })],
  ])('is admitted by %s', async (_, credential) => {
    expect((await send({ ...credential(), ...inline() })).status).toBe(200);
  });

  it('forwards the bearer token of the provider when the gateway key has its own header', async () => {
    const headers = {
      'x-gateway-api-key': key,
      'x-gateway-provider': 'anthropic',
      'x-gateway-custom-host': upstream.url,
      authorization: 'Bearer sk-own',
    };
    await send(headers, { path: '/v1/messages' });
    const [one] = upstream.reached;
    expect(one!.headers).toMatchObject({
      'x-api-key': 'sk-own',
      'anthropic-version': '2023-06-01',
    });
    expect(one!.headers.authorization).toBeUndefined();
  });

  it('returns the trace, provider, target and number of attempts in headers', async () => {
    const answer = await send({ ...bearer(), ...inline(), 'x-gateway-trace-id': 'my-trace' });
    expect(answer.headers).toMatchObject({
      'x-gateway-trace-id': 'my-trace',
      'x-gateway-provider': 'openai',
      'x-gateway-retry-attempt-count': '0',
      'x-gateway-last-used-option-index': 'config',
      'x-gateway-cache-status': 'DISABLED',
    });
    const other = await send({ ...bearer(), ...inline(), 'x-gateway-trace-id': 'not sane\u00e9' });
    expect(other.headers['x-gateway-trace-id']).toMatch(/^[\da-f-]{36}$/);
  });

  it('returns a warning for each field of an inline config that has no effect', async () => {
    const targets = [{ aws_s3_bucket: 'b' }];
    const own = { metadata: {}, targets, extensions: { note: 'x' } };
    for (const answer of [
      await send({ ...bearer(), ...inline(own) }),
      await send({ ...bearer(), ...inline(own) }),
    ]) {
      expect([answer.status, answer.headers.warning]).toEqual([
        200,
        '299 gatewright "config.metadata: has no effect in this gateway", ' +
          '299 gatewright "config.targets[0].aws_s3_bucket: has no effect in this gateway"',
      ]);
    }
    expect((await send({ ...bearer(), ...inline() })).headers.warning).toBeUndefined();
    const refused = await send({ ...bearer(), ...inline({ ...own, provider: '@unknown' }) });
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(refused.headers.warning).toContain('config.metadata');
  });

  it('is forwarded on any other path with its query and body to the account of its caller', async () => {
    upstream.script = (_, response) => {
      response
        .writeHead(201, { 'content-type': 'application/octet-stream' })
        .end(Buffer.from([1, 0, 255]));
    };
    const headers = {
      ...bearer('sk-own'),
      'x-gateway-api-key': key,
      ...inline({ api_key: undefined }),
      'content-type': 'application/octet-stream',
    };
    const sent = Buffer.from([0, 1, 2, 255]);
    const answer = await send(headers, { body: sent, path: '/v1/clips/x%2by/content?part=1' });
    expect(answer.status).toBe(201);
    expect(upstream.reached[0]).toMatchObject({
      url: '/v1/clips/x+y/content?part=1',
      body: sent,
    });
  });

  it.each([
    ['org%2Fname', 'org%2Fname'],
    ['org%2fname%2Fv1.5', 'org%2Fname%2Fv1.5'],
    ['%40team%2Forg%2Fname?beta=%2F', '@team%2Forg%2Fname?beta=%2F'],
  ])(
    'reaches the provider in one spelling for %s, a model name with a slash',
    async (id, canonical) => {
      const path = `/v1/models/${id}`;
      for (const method of ['GET', 'HEAD']) {
        expect((await send({ ...bearer(), ...inline() }, { method, path })).status).toBe(200);
      }
      const url = `/v1/models/${canonical}`;
      expect(upstream.reached.map((one) => one.url)).toEqual([url, url]);
    },
  );

  it('returns the error of the provider unchanged', async () => {
    const refusal = { error: { message: 'no', type: 'x', code: 'y', param: null } };
    upstream.script = (_, response) => sendJson(response, refusal, 422);
    const answer = await send({ ...bearer(), ...inline() });
    expect(answer).toMatchObject({ status: 422, body: refusal });
    expect(answer.headers['x-gateway-gateway-exception']).toBeUndefined();
  });

  it('uses the config of its key, and may not override it when the key forbids that', async () => {
    const made = await server.request('POST', '/v2/configs', {
      body: {
        name: 'for the key',
        config: { provider: 'openai', api_key: 'sk-saved', custom_host: upstream.url },
      },
    });
    const { slug } = made.body;
    const free = await addKey({ defaults: { config_id: slug } });
    const bound = await addKey({ defaults: { config_id: slug, allow_config_override: false } });
    expect((await send(bearer(free.key))).status).toBe(200);
    expect(upstream.reached[0]!.headers.authorization).toBe('Bearer sk-saved');
    expect((await send({ ...bearer(free.key), ...inline() })).status).toBe(200);
    expect(upstream.reached[1]!.headers.authorization).toBe('Bearer sk-provider');
    const refused = await send({ ...bearer(bound.key), ...inline() });
    expect(refused).toMatchObject({
      status: 400,
      body: { error: { code: 'config_override_forbidden' } },
    });
    const named = await send({ ...bearer(key), 'x-gateway-config': slug });
    expect(named.status).toBe(200);
    const unknown = await send({ ...bearer(key), 'x-gateway-config': 'pc-nothing' });
    expect(unknown).toMatchObject({ status: 400, body: { error: { code: 'config_not_found' } } });
  });
});

it('follows the override setting of the workspace when the key has none, on every plane', async () => {
  const firm = { defaults: { allow_config_override: false } };
  for (const plane of ['/v1', '/v2', '/admin/v2']) {
    const options = plane === '/v1' ? { auth: 'key' as const } : {};
    const made = await server.request('POST', `${plane}/workspaces`, {
      ...options,
      body: { name: plane, ...firm },
    });
    expect(made).toMatchObject({ status: 200, body: firm });
    const workspace_id = made.body.id;
    const keyOf = async (defaults: object | null) => {
      const body = { name: 'k', scopes: ['completions.write'], workspace_id, defaults };
      const key = { body, auth: 'key' as const };
      return (await server.request('POST', '/v1/api-keys/workspace/service', key)).body.key;
    };
    const [silent, outspoken] = [await keyOf(null), await keyOf({ allow_config_override: true })];
    const answers = await Promise.all(
      [silent, outspoken].map((one) => send({ ...bearer(one), ...inline() })),
    );
    expect(answers.map(({ status }) => status)).toEqual([400, 200]);
    const code = 'config_override_forbidden';
    expect(answers[0]).toMatchObject({ body: { error: { code } } });
    // The other defaults are unchanged, and null removes the setting.
    const path = `${plane}/workspaces/${workspace_id}`;
    const updateDefaults = async (defaults: object) => {
      await server.request('PUT', path, { ...options, body: { defaults } });
      return (await server.request('GET', path, options)).body.defaults;
    };
    expect(await updateDefaults({ metadata: { a: '1' } })).toEqual({
      ...firm.defaults,
      metadata: { a: '1' },
    });
    expect(await updateDefaults({ allow_config_override: null })).toEqual({ metadata: { a: '1' } });
  }
});

describe('a rejection', () => {
  const codeOf = (answer: { body: { error?: { code?: string } } }) => answer.body.error?.code;

  it.each([
    ['no key', () => inline(), 401, 'invalid_api_key'],
    ['a key of no form', () => ({ ...bearer('x'), ...inline() }), 401, 'invalid_api_key'],
    [
      'a key whose scheme is Basic',
      () => ({ authorization: `Basic ${key}` }),
      401,
      'invalid_api_key',
    ],
    ['no config and no provider', () => bearer(), 400, 'provider_missing'],
    [
      'an unknown provider',
      () => ({ ...bearer(), 'x-gateway-provider': 'nobody' }),
      400,
      'provider_unknown',
    ],
    [
      'a config that is no JSON',
      () => ({ ...bearer(), 'x-gateway-config': '{' }),
      400,
      'invalid_config',
    ],
    [
      'a config with a fault',
      () => ({ ...bearer(), ...inline({ retry: { attempts: 9 } }) }),
      400,
      'invalid_config',
    ],
    [
      'a private address',
      () => ({
        ...bearer(),
        ...inline(),
        'x-gateway-config': '',
        'x-gateway-provider': 'openai',
        'x-gateway-custom-host': 'http://10.0.0.1/v1',
      }),
      400,
      'custom_host_refused',
    ],
    [
      'a time that is none',
      () => ({ ...bearer(), ...inline(), 'x-gateway-request-timeout': '-1' }),
      400,
      'invalid_request',
    ],
    [
      'metadata that is none',
      () => ({ ...bearer(), ...inline(), 'x-gateway-metadata': '[]' }),
      400,
      'invalid_request',
    ],
  ])('describes %s in the OpenAI error format', async (_, headers, status, code) => {
    const answer = await send(headers() as Record<string, string>);
    expect([answer.status, codeOf(answer)]).toEqual([status, code]);
    expect(answer.body.error.message).not.toBe('');
    expect(answer.headers['x-gateway-gateway-exception']).toBe('true');
    expect(upstream.reached).toEqual([]);
  });

  it.each([
    ['the model twice', '{"model":"a","model":"b"}'],
    ['the model twice, once escaped', '{"model":"a","mod\\u0065l":"b"}'],
    ['no JSON', '{"model":'],
    ['a list', '[]'],
    ['no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ])('rejects a body with %s before anything is sent', async (_, body) => {
    const headers = { ...bearer(), ...inline(), 'content-type': 'application/json' };
    expect(codeOf(await send(headers, { body }))).toBe('invalid_json');
    expect(upstream.reached).toEqual([]);
  });

  it('uses the Anthropic error format on /v1/messages', async () => {
    const answer = await send({}, { path: '/v1/messages' });
    expect(answer).toMatchObject({
      status: 401,
      body: { type: 'error', error: { type: 'authentication_error', code: 'invalid_api_key' } },
    });
  });

  it('returns 413 for a body above the limit, with and without a declared length', async () => {
    const bound = server.settings.inference.bodyBytesMax;
    const declared = await raw(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
        `x-gateway-provider: openai\r\ncontent-length: ${bound + 1}\r\n\r\n`,
    );
    expect(declared).toContain('413');
    expect(declared).toContain('body_too_large');
  });

  it('differs for an expired key, a key without the scope and an unknown key', async () => {
    const expiring = await addKey({
      expires_at: new Date(server.clock.now() + 60_000).toISOString(),
    });
    expect((await send({ ...bearer(expiring.key), ...inline() })).status).toBe(200);
    server.clock.advance(60_000);
    const expired = await send({ ...bearer(expiring.key), ...inline() });
    expect([expired.status, codeOf(expired)]).toEqual([401, 'api_key_expired']);
    const other = await addKey({ scopes: ['logs.view'] });
    const denied = await send({ ...bearer(other.key), ...inline() });
    expect([denied.status, codeOf(denied)]).toEqual([403, 'scope_missing']);
  });

  it.each([
    ['two hosts', 'POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n'],
    [
      'two keys',
      'POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nx-gateway-api-key: a\r\nx-gateway-api-key: b\r\n\r\n',
    ],
    ['an absolute target', 'GET http://evil/v1/models HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['a hidden separator', 'GET /v1/..%2fadmin HTTP/1.1\r\nhost: a\r\n\r\n'],
    ...[
      'GET /v1/files/a%2Fb',
      'GET /v1/models/a%2Fb/x',
      'GET /v1/models%2Fa',
      'GET /v1/x?a=%2F#',
      'GET /v1/models/..%2Ffiles',
      'GET /v1/models/a%2F%2e%2e%2Ffiles',
      'GET /v1/models/%2Fa',
      'GET /v1/models/a%2F%2Fb',
      'GET /v1/models/a%2Fb%5Cc',
      'GET /v1/models/a%2Fb%00',
      'DELETE /v1/models/a%2Fb',
      'POST /v1/models/a%2Fb',
      'GET /v1/x/models/a%2Fb',
      'GET /v1/models/a%2F%FF',
      'GET /V1/models/a%2Fb',
      'GET /v1/Models/a%2Fb',
    ].map((line) => [line, `${line} HTTP/1.1\r\nhost: a\r\n\r\n`]),
    ['two hosts for a model', 'GET /v1/models/a%2Fb HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n'],
    [
      'length and chunks',
      'POST /v1/x HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n',
    ],
    ['no host', 'GET /v1/models HTTP/1.1\r\n\r\n'],
  ])('returns 400 for %s and closes the connection', async (_, bytes) => {
    expect(await raw(bytes)).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('returns 404 for paths outside /v1/', async () => {
    expect((await send(bearer(), { path: '/admin/v2/workspaces' })).status).toBe(404);
  });
});

/** Returns all bytes that are received in response until the connection ends. */
function raw(bytes: string): Promise<string> {
  const { port } = new URL(server.inferenceUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('end', () => socket.end());
    socket.on('close', () => resolve(text)).on('error', reject);
  });
}

describe('a stream', () => {
  const events = [
    'data: {"a":1}\r\n\r\n',
    ': a comment\n\n',
    'data: h\u00e9',
    'llo\n\n',
    'data: [DONE]\n\n',
  ];

  it('arrives byte for byte as it was sent', async () => {
    upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of events) response.write(event);
      response.end();
    };
    const answer = await send({ ...bearer(), ...inline() }, { body: { ...chat, stream: true } });
    expect(answer.headers['content-type']).toBe('text/event-stream');
    expect(answer.body).toBe(events.join(''));
  });

  it('delivers each event before the next one is produced', async () => {
    const steps = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    upstream.script = async (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const step of steps) {
        response.write('data: one\n\n');
        await step.promise;
      }
      response.end();
    };
    const answer = await openStream();
    for (const step of steps) {
      expect(await answer.next()).toBe('data: one\n\n');
      step.resolve();
    }
    expect(await answer.next()).toBeNull();
  });

  it('is aborted at the provider when the caller disconnects', async () => {
    upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: one\n\n');
    };
    const next = upstream.next();
    const answer = await openStream();
    await answer.next();
    answer.leave();
    await (await next).closed;
    expect(upstream.reached).toHaveLength(1);
  });

  it('is aborted at the provider when the caller disconnects before the response starts', async () => {
    upstream.script = () => undefined;
    const next = upstream.next();
    const leaving = openStream().catch((error) => error);
    const one = await next;
    streams.at(-1)!.destroy();
    await one.closed;
    await leaving;
    expect(upstream.reached).toHaveLength(1);
  });

  it('is aborted for the caller when the provider aborts it, never completed', async () => {
    upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: one\n\n', () => response.destroy());
    };
    const answer = await openStream();
    expect(await answer.next()).toBe('data: one\n\n');
    await expect(answer.next()).rejects.toThrow(/aborted/);
  });

  it('is read from the provider no faster than the caller reads it', async () => {
    const sent = { bytes: 0 };
    const chunk = `data: ${'x'.repeat(64 * 1024)}\n\n`;
    const chunks = 1_024;
    upstream.script = async (request, response) => {
      if (request.method === 'GET') return sendJson(response, {});
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let at = 0; at < chunks; at += 1) {
        sent.bytes += chunk.length;
        if (!response.write(chunk)) await once(response, 'drain');
      }
      response.end();
    };
    const answer = await openStream({ paused: true });
    // It stops when the buffers of both sides are full, far below the total size.
    await eventually(async () => {
      const before = sent.bytes;
      await send({ ...bearer(), ...inline() }, { path: '/v1/models', method: 'GET' });
      expect(before).toBeGreaterThan(0);
      expect(sent.bytes).toBe(before);
    });
    expect(sent.bytes).toBeLessThan((chunks * chunk.length) / 2);
    expect(await answer.length()).toBe(chunks * chunk.length);
  });

  const streams: ClientRequest[] = [];

  /** Sends a request whose response is read chunk by chunk. */
  async function openStream({ paused = false } = {}) {
    const { port } = new URL(server.inferenceUrl);
    const body = JSON.stringify({ ...chat, stream: true });
    const headers = { ...bearer(), ...inline(), 'content-type': 'application/json' };
    const sending = open({ port, path: '/v1/chat/completions', method: 'POST', headers });
    streams.push(sending);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      sending.on('response', resolve).on('error', reject).end(body);
    });
    response.setEncoding('utf8');
    if (paused) response.pause();
    const pieces = response[Symbol.asyncIterator]();
    return {
      next: async (): Promise<string | null> => (await pieces.next()).value ?? null,
      leave: () => sending.destroy(),
      length: async (): Promise<number> => {
        let length = 0;
        for await (const piece of response) length += String(piece).length;
        return length;
      },
    };
  }
});

describe('a configuration change', () => {
  it('rejects a deleted key', async () => {
    const doomed = await addKey();
    expect((await send({ ...bearer(doomed.key), ...inline() })).status).toBe(200);
    await server.request('DELETE', `/v1/api-keys/${doomed.id}`);
    await eventually(async () => {
      expect((await send({ ...bearer(doomed.key), ...inline() })).status).toBe(401);
    });
  });

  it('applies a changed config to the keys that use it', async () => {
    const config = { provider: 'openai', api_key: 'sk-one', custom_host: upstream.url };
    const made = await server.request('POST', '/v2/configs', {
      body: { name: 'changing', config },
    });
    const using = await addKey({ defaults: { config_id: made.body.id } });
    await send(bearer(using.key));
    await server.request('PUT', `/v2/configs/${made.body.slug}`, {
      body: { config: { ...config, api_key: 'sk-two' } },
    });
    await eventually(async () => {
      await send(bearer(using.key));
      expect(upstream.reached.at(-1)!.headers.authorization).toBe('Bearer sk-two');
    });
  });

  it('causes no database query when nothing has changed', async () => {
    // The changes of earlier tests are picked up first.
    await eventually(async () => {
      const spent = await queriesOf(async () => {
        for (let at = 0; at < 20; at += 1) await send({ ...bearer(), ...inline() });
      });
      expect(spent).toBe(0);
    });
  });
});

/** Counts the reads of keys and configs during `work`, without polls for changes. */
async function queriesOf(work: () => Promise<void>): Promise<number> {
  const { Connection } = await import('mysql2');
  const texts: string[] = [];
  const methods = ['query', 'execute'] as const;
  const originals = methods.map((name) => Connection.prototype[name]);
  methods.forEach((name, at) => {
    Connection.prototype[name] = function (this: unknown, ...args: unknown[]) {
      const [statement] = args as [{ sql?: string } | string];
      texts.push(typeof statement === 'string' ? statement : (statement.sql ?? ''));
      return Reflect.apply(originals[at]!, this, args);
    } as never;
  });
  try {
    await work();
  } finally {
    methods.forEach((name, at) => {
      Connection.prototype[name] = originals[at] as never;
    });
  }
  return texts.filter((text) => /api_key|configs/.test(text)).length;
}
