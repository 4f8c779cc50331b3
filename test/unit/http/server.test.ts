/**
 * Verifies the HTTP layer on a real socket: framing, limits, order of checks, errors and shutdown.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { RawReply, type Route, type RouteRequest, route } from '../../../src/http/routes/route.ts';
import { ApiError } from '../../../src/model/wire/errors.ts';
import { exchange } from '../../support/network/exchange.ts';
import { type HttpHarness, startHttp } from '../../support/server/http-server.ts';

const shared = { mounts: { v1: ['access-token'], v2: ['access-token'] }, scope: 'x.y' } as const;
const echoed = (request: RouteRequest<string>) => {
  const { caller, mount, params, query, body, ifMatch, ifNoneMatch, owner, requestId, now } =
    request;
  return { caller, mount, params, query, body, ifMatch, ifNoneMatch, owner, requestId, now };
};
const response = z.unknown();

let release: () => void = () => {};

const routes: Route<string>[] = [
  route({
    ...shared,
    method: 'PUT',
    path: '/things/:thingId',
    summary: 'Echo',
    versioned: true,
    query: z.object({ page: z.string().optional() }),
    body: z.object({ name: z.string() }),
    response,
    handle: async (request) => echoed(request),
  }),
  route({
    ...shared,
    method: 'GET',
    path: '/things/:thingId',
    summary: 'Read',
    query: z.object({ q: z.string().optional() }),
    response,
    handle: async (request) => echoed(request),
  }),
  route({
    ...shared,
    method: 'DELETE',
    path: '/things/:thingId',
    summary: 'Delete',
    response,
    handle: async () => ({}),
  }),
  route({
    ...shared,
    method: 'POST',
    path: '/things/:thingId/rotate',
    summary: 'Rotate',
    response,
    handle: async (request) => echoed(request),
  }),
  route({
    ...shared,
    method: 'GET',
    path: '/things/special',
    summary: 'Static',
    response,
    handle: async () => 'special',
  }),
  route({
    ...shared,
    method: 'GET',
    path: '/mcp',
    summary: 'Off',
    features: ['mcp'],
    response,
    handle: async () => 1,
  }),
  route({
    ...shared,
    method: 'GET',
    path: '/cached',
    summary: '304',
    response,
    handle: async () => new RawReply(304, null, { etag: '"1"' }),
  }),
  route({
    ...shared,
    method: 'GET',
    path: '/slow',
    summary: 'Waits',
    response,
    handle: async () => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return 'done';
    },
  }),
  route({
    ...shared,
    method: 'GET',
    path: '/flat',
    summary: 'Flat',
    errors: 'flat',
    response,
    handle: async () => {
      throw new ApiError('notFound');
    },
  }),
  route({
    ...shared,
    method: 'GET',
    path: '/broken',
    summary: 'Throws',
    response,
    handle: async () => {
      throw Object.assign(new Error('ER_X in row canary-7f3a'), { sql: 'SELECT canary-sql' });
    },
  }),
  route({
    ...shared,
    method: 'GET',
    path: '/away',
    summary: 'Throws',
    response,
    handle: async () => {
      throw 'database';
    },
  }),
];

describe('the HTTP layer', () => {
  let http: HttpHarness;
  beforeAll(async () => {
    http = await startHttp(routes);
  });
  afterAll(() => http.server.close(0));

  const bearer = { authorization: 'Bearer anna' };
  const call = (method: string, path: string, body?: unknown, headers = {}) =>
    exchange(method, http.url + path, body, { ...bearer, ...headers });

  /** Sends raw bytes and resolves to everything that the server sends until it closes. */
  const raw = async (text: string): Promise<string> => {
    const socket = connect(Number(new URL(http.url).port), '127.0.0.1');
    let answer = '';
    socket.setEncoding('latin1').on('data', (chunk) => {
      answer += chunk;
    });
    socket.write(text, 'latin1');
    await once(socket, 'close');
    return answer;
  };
  const get = (path: string, ...headers: string[]): string =>
    [
      `GET ${path} HTTP/1.1`,
      'Host: a',
      'Authorization: Bearer anna',
      ...headers,
      'Connection: close',
      '',
      '',
    ].join('\r\n');

  describe('a handler', () => {
    it('receives the request decoded once, and the time when it was accepted', async () => {
      const answer = await call(
        'PUT',
        '/v1/things/a%20%C3%A9%252F?page=2',
        { name: 'b', more: 1 },
        {
          'if-match': '"3"',
          'if-none-match': '"x"',
          'gatewright-owner': 'platform',
          'x-request-id': 'r-1',
          'x-tsg-id': 'ignored',
        },
      );
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        caller: 'anna',
        mount: 'v1',
        params: { thingId: 'a é%2F' },
        query: { page: '2' },
        body: { name: 'b' },
        ifMatch: 3,
        ifNoneMatch: '"x"',
        owner: 'platform',
        requestId: 'r-1',
        now: 1000,
      });
      expect(answer.headers['content-type']).toBe('application/json');
      expect(answer.headers['cache-control']).toBe('no-store');
      expect(answer.headers['x-request-id']).toBe('r-1');
    });

    it('receives a generated request id when the client sends an invalid one', async () => {
      const answer = await call('GET', '/v1/things/a', undefined, { 'x-request-id': 'a b"c' });
      expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    });

    it('matches static paths before parameters', async () => {
      expect((await call('GET', '/v1/things/special')).body).toBe('special');
    });
  });

  describe('an accepted request', () => {
    it.each(['GET', 'DELETE'])('is %s with a JSON content type and no body', async (method) => {
      const answer = await call(method, '/v1/things/a', undefined, {
        'content-type': 'application/json',
      });
      expect(answer.status).toBe(200);
    });

    it('is POST with a JSON content type where the route expects no body, with or without one', async () => {
      const headers = { 'content-type': 'application/json' };
      expect((await call('POST', '/v1/things/a/rotate', undefined, headers)).status).toBe(200);
      expect((await call('POST', '/v1/things/a/rotate', {}, headers)).status).toBe(200);
    });

    it('is DELETE with a body', async () => {
      expect((await call('DELETE', '/v1/things/a', { name: 'a' })).status).toBe(200);
    });

    it('is HEAD where GET is defined', async () => {
      const answer = await call('HEAD', '/v1/things/a');
      expect(answer.status).toBe(200);
      expect(answer.body).toBe('');
    });

    it('returns a response without a body', async () => {
      const answer = await call('GET', '/v1/cached');
      expect(answer.status).toBe(304);
      expect(answer.headers.etag).toBe('"1"');
    });
  });

  describe('a rejected request', () => {
    it('names unknown fields on v2', async () => {
      const answer = await call('PUT', '/v2/things/a', { name: 'b', is_admin: true });
      expect(answer.status).toBe(400);
      expect(answer.body.error).toEqual({
        code: 'AB01',
        type: 'Client Error',
        param: 'is_admin',
        message: 'Request Validation Error: is_admin: is not a known field',
      });
    });

    it('returns 404 for an unknown path in both published error formats', async () => {
      const answer = await call('GET', '/v1/nothing');
      expect(answer.status).toBe(404);
      expect(answer.body).toEqual({
        success: false,
        status_code: 404,
        error: { code: 'AB08', message: 'Resource not found', param: '', type: 'Client Error' },
        data: { message: 'Resource not found', errorCode: 'AB08' },
      });
    });

    it('returns 405 with the allowed methods of the path', async () => {
      const answer = await call('PATCH', '/v1/things/a', { name: 'b' });
      expect(answer.status).toBe(405);
      expect(answer.headers.allow).toBe('PUT, GET, HEAD, DELETE');
      // Also with a body above every limit, and for a method that requires a body.
      const large = await call('PATCH', '/v1/things/a', 'x'.repeat(2_000_000));
      const { status, headers } = await call('QUERY', '/v1/things/a');
      expect([large.status, status, headers.allow]).toEqual([405, 405, answer.headers.allow]);
    });

    it('uses the flat error format where the route declares it', async () => {
      expect((await call('GET', '/v1/flat')).body).toEqual({
        code: 'AB08',
        message: 'Resource not found',
        param: '',
        type: 'Client Error',
      });
    });

    it('checks authentication before the scope, and the scope before the body', async () => {
      const nobody = await exchange('PUT', `${http.url}/v1/things/a`, 'not json', {});
      expect(nobody.status).toBe(401);
      expect(nobody.headers['www-authenticate']).toBe('Bearer');
      const outsider = await call('PUT', '/v1/things/a', 'not json', {
        authorization: 'Bearer outsider',
      });
      expect(outsider.status).toBe(403);
    });

    it('returns 403 for a feature that is disabled', async () => {
      const answer = await call('GET', '/v1/mcp');
      expect(answer.status).toBe(403);
      expect(answer.body.error.code).toBe('AB03');
    });

    it.each(['3', 'W/"2"', 'W/*', '"3", "4"', '"x"'])(
      'returns 400 for the If-Match %s where it is evaluated',
      async (tag) => {
        const ask = (method: string, body?: unknown) =>
          call(method, '/v1/things/a', body, { 'if-match': tag });
        const { status, body } = await ask('PUT', { name: 'b' });
        expect([status, body.error.param]).toEqual([400, 'If-Match']);
        expect((await ask('GET')).status).toBe(200);
      },
    );

    it.each([
      ['another type', 'text/plain', '{"name":"a"}', {}],
      ['a form', 'application/x-www-form-urlencoded', 'name=a', {}],
      ['another charset', 'application/json; charset=utf-16', '{"name":"a"}', {}],
      ['gzip', 'application/json', gzipSync('{"name":"a"}'), { 'content-encoding': 'gzip' }],
    ])('returns 415 for a body of %s', async (_, type, body, headers) => {
      const answer = await call('PUT', '/v1/things/a', body, { 'content-type': type, ...headers });
      expect(answer.status).toBe(415);
      expect(answer.body.success).toBe(false);
    });

    it('returns 400 with the position for JSON that parsers read differently', async () => {
      const answer = await call('PUT', '/v1/things/a', '{"name":"a","name":"b"}', {
        'content-type': 'application/json',
      });
      expect(answer.status).toBe(400);
      expect(answer.body.error.message).toContain('at character 12');
    });

    it('returns 413 for a body above 256 KiB, with and without a declared length', async () => {
      const big = JSON.stringify({ name: 'x'.repeat(256 * 1024) });
      const declared = await call('PUT', '/v1/things/a', big, {
        'content-type': 'application/json',
      });
      expect(declared.status).toBe(413);
      expect(declared.body.success).toBe(false);
      const head =
        'PUT /v1/things/a HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer anna\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
      const chunk = `${(64 * 1024).toString(16)}\r\n${'x'.repeat(64 * 1024)}\r\n`;
      expect(await raw(head + chunk.repeat(5))).toContain('413 Payload Too Large');
    });
  });

  describe('a malformed request', () => {
    it.each([
      ['two Authorization headers', get('/v1/things/a', 'Authorization: Bearer outsider')],
      ['two Host headers', get('/v1/things/a', 'Host: b')],
      ['an absolute-form target', get('http://a/v1/things/a')],
      ['a double slash', get('//v1/things/a')],
      ['dot segments', get('/v1/x/%2e%2e/things/a')],
      ['an encoded slash', get('/v1/things/a%2Frotate')],
      ['a backslash', get('/v1/things\\a')],
      ['a broken escape', get('/v1/things/%zz')],
      [
        'a content length next to chunks',
        get('/v1/things/a', 'Content-Length: 3', 'Transfer-Encoding: chunked'),
      ],
      ['two content lengths', get('/v1/things/a', 'Content-Length: 3', 'Content-Length: 4')],
      ['a bare line feed', 'GET /v1/things/a HTTP/1.1\nHost: a\n\n'],
      ['no Host', 'GET /v1/things/a HTTP/1.1\r\nConnection: close\r\n\r\n'],
      ['something that is not HTTP', '\x16\x03\x01\x02\x00\x01\x00'],
    ])('returns 400 and closes the connection for %s', async (_, text) => {
      expect(await raw(text)).toMatch(/^HTTP\/1\.1 400 Bad Request/);
    });

    it('returns 431 for headers above 16 KiB', async () => {
      expect(await raw(get('/v1/things/a', `X-Big: ${'x'.repeat(20_000)}`))).toContain(' 431 ');
    });

    it.each(['/V1/things/a', '/v1/things/a/', '/v1/things;x/a', '/v1//things/a'])(
      'returns 400 or 404 for the near miss %s',
      async (path) => {
        expect(await raw(get(path))).toMatch(/ (400|404) /);
      },
    );
  });

  describe('a failure', () => {
    it('shows no details to the caller, and logs everything except values', async () => {
      const answer = await call('GET', '/v1/broken', undefined, { 'x-request-id': 'broken-1' });
      expect(answer.status).toBe(500);
      expect(answer.body.error).toEqual({
        code: 'AB04',
        message: 'Internal Server Error',
        param: '',
        type: 'Server Error',
      });
      const line = http.logLines.find(
        (one) => one.includes('request failed') && one.includes('broken-1'),
      );
      expect(line).toContain('ER_X');
      expect(http.logLines.join()).not.toContain('canary-sql');
    });

    it('returns 503 with a retry time when a retry may succeed', async () => {
      const answer = await call('GET', '/v1/away');
      expect(answer.status).toBe(503);
      expect(answer.headers['retry-after']).toBe('1');
    });
  });

  it('logs one line for each request with caller, route and outcome, and no credential', async () => {
    await call('GET', '/v1/things/secret-id-1?q=secret-query-1', undefined, {
      authorization: 'Bearer canary-credential',
      'x-request-id': 'logged-1',
    });
    const lines = (): string[] => http.logLines.filter((line) => line.includes('logged-1'));
    await expect.poll(lines).toHaveLength(1);
    expect(JSON.parse(lines()[0]!)).toMatchObject({
      level: 'info',
      method: 'GET',
      route: '/v1/things/:thingId',
      status: 200,
      requestId: 'logged-1',
      principalId: 'canary-credential',
      durationMs: expect.any(Number),
    });
    expect(lines()[0]).not.toContain('secret-');
  });

  it('counts in the metrics by route pattern, with one name for all unmatched paths', async () => {
    await call('GET', '/v1/things/x');
    await call('GET', '/v1/random/path');
    await raw(get('//evil'));
    const names = () => new Set(http.exchanges.map((one) => one.route));
    await expect.poll(names).toContain('unmatched');
    expect([...names()].filter((name) => name.includes('random') || name.includes('evil'))).toEqual(
      [],
    );
  });
});

describe('slow clients and shutdown', () => {
  it('returns 408 to a client that does not finish its headers', async () => {
    const http = await startHttp(routes, { headersTimeoutMs: 200 });
    const socket = connect(Number(new URL(http.url).port), '127.0.0.1');
    let answer = '';
    socket.setEncoding('latin1').on('data', (chunk) => {
      answer += chunk;
    });
    socket.write('GET /v1/things/a HTTP/1.1\r\nHost: a\r\nX-Slow: ');
    await once(socket, 'close');
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    await http.server.close(0);
  });

  it('returns 408 to a client that does not finish its body', async () => {
    const http = await startHttp(routes, { headersTimeoutMs: 200, requestTimeoutMs: 400 });
    const socket = connect(Number(new URL(http.url).port), '127.0.0.1');
    let answer = '';
    socket.setEncoding('latin1').on('data', (chunk) => {
      answer += chunk;
    });
    socket.write(
      'PUT /v1/things/a HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer anna\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    );
    await once(socket, 'close');
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    await http.server.close(0);
  });

  it('finishes requests in progress and accepts no new ones', async () => {
    const http = await startHttp(routes);
    const inFlight = exchange('GET', `${http.url}/v1/slow`, undefined, {
      authorization: 'Bearer anna',
    });
    const began = release;
    await expect.poll(() => release === began).toBe(false);
    const closed = http.server.close(10_000);
    await expect
      .poll(async () => {
        const attempt = connect(Number(new URL(http.url).port), '127.0.0.1');
        return Promise.race([
          once(attempt, 'connect').then(() => {
            attempt.destroy();
            return 'open';
          }),
          once(attempt, 'error').then(() => 'refused'),
        ]).catch(() => 'refused');
      })
      .toBe('refused');
    release();
    expect((await inFlight).body).toBe('done');
    await closed;
  });

  it('aborts requests that are still in progress after the grace period', async () => {
    const http = await startHttp(routes);
    const began = release;
    const inFlight = exchange('GET', `${http.url}/v1/slow`, undefined, {
      authorization: 'Bearer anna',
    });
    const outcome = inFlight.then(
      () => 'answered',
      () => 'cut',
    );
    await expect.poll(() => release === began).toBe(false);
    await http.server.close(50);
    expect(await outcome).toBe('cut');
    release();
  });
});
