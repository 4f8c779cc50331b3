/** Verifies the HTTP client of sync: tokens, retries, pauses and errors. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Secret } from '../../../../src/secret.ts';
import { AdminClient } from '../../../../src/sync/server/client.ts';
import { ApiRefusal, Unreachable } from '../../../../src/sync/server/refusal.ts';

interface Answer {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly cut?: true;
}

interface Peer extends AsyncDisposable {
  readonly url: string;
  /** Responses in order; the last one repeats. */
  answers: Answer[];
  /** API requests without those for tokens. */
  readonly seen: IncomingMessage[];
  tokens: number;
}

async function startPeer(): Promise<Peer> {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === '/oauth2/access_token') {
      peer.tokens += 1;
      response.end(JSON.stringify({ access_token: `t${peer.tokens}`, expires_in: 900 }));
      return;
    }
    seen.push(request);
    const answer = peer.answers[Math.min(seen.length, peer.answers.length) - 1] ?? {};
    if (answer.cut) {
      request.socket.destroy();
      return;
    }
    response.writeHead(answer.status ?? 200, answer.headers);
    response.end(JSON.stringify(answer.body ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const peer: Peer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answers: [],
    seen,
    tokens: 0,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return peer;
}

let peer: Peer;
let client: AdminClient;
let pauses: number[];
let now: number;

beforeEach(async () => {
  peer = await startPeer();
  pauses = [];
  now = 1_000_000;
  client = new AdminClient({
    adminBaseUrl: `${peer.url}/base/`,
    baseUrl: `${peer.url}/public/v1`,
    authUrl: peer.url,
    tsgId: '1234567890',
    clientId: 'id',
    clientSecret: new Secret('canary-secret', 'test'),
    owner: 'platform',
    clock: { now: () => now },
    random: () => 0.5,
    pause: async (ms) => {
      pauses.push(ms);
    },
  });
});
afterEach(async () => {
  await client[Symbol.asyncDispose]();
  await peer[Symbol.asyncDispose]();
});

const get = { method: 'GET', path: '/v2/configs?page=1' } as const;

describe('addresses and headers', () => {
  it('combines each path with its base URL, and contains token, version and owner', async () => {
    await client.request(get);
    await client.request({ method: 'POST', path: '/v1/api-keys/a', body: {} });
    await client.request({ method: 'DELETE', path: '/v2/x', ifMatch: 3, fence: 7 });
    expect(peer.seen.map(({ url }) => url)).toEqual([
      '/base/v2/configs?page=1',
      '/public/v1/api-keys/a',
      '/base/v2/x',
    ]);
    expect(peer.seen[2]?.headers).toMatchObject({
      authorization: 'Bearer t1',
      'if-match': '"3"',
      'gatewright-owner': 'platform',
      'gatewright-fence': '7',
    });
    expect(client).toMatchObject({ requests: 4, writes: 2 });
  });
});

describe('tokens', () => {
  it('is requested once for concurrent calls, and renewed one minute before expiry', async () => {
    await Promise.all(Array.from({ length: 10 }, () => client.request(get)));
    expect(peer.tokens).toBe(1);
    now += 839_000;
    await client.request(get);
    expect(peer.tokens).toBe(1);
    now += 2_000;
    await client.request(get);
    expect(peer.tokens).toBe(2);
  });

  it('is requested again after one 401, and a second 401 is final', async () => {
    peer.answers = [{ status: 401 }, {}];
    await client.request(get);
    expect(peer.tokens).toBe(2);
    peer.answers = [{ status: 401, body: { error: { message: 'no role' } } }];
    await expect(client.request(get)).rejects.toThrow(/client "id" for tenant 1234567890: no role/);
    await expect(client.request(get)).rejects.toMatchObject({ kind: 'unreachable' });
    await expect(client.request(get)).rejects.not.toThrow(/canary/);
  });
});

describe('retries', () => {
  it.each([408, 425, 429, 502, 503, 504])('follows a %i, also for a create', async (status) => {
    peer.answers = [{ status }, { status }, { body: { id: 'x' } }];
    const answer = await client.request({ method: 'POST', path: '/v2/configs', body: {} });
    expect(answer.body).toEqual({ id: 'x' });
    expect(pauses).toEqual([150, 300]);
  });

  it('follows a broken connection, and then reports that the first attempt may have succeeded', async () => {
    peer.answers = [{ cut: true }, { status: 409, body: { error: { message: 'exists' } } }];
    const refused = client.request({ method: 'POST', path: '/v2/configs', body: {} });
    await expect(refused).rejects.toMatchObject({ status: 409, maybeDone: true });
  });

  it.each([400, 403, 404, 409, 412, 500])('does not follow a %i', async (status) => {
    const error = { message: 'no', code: 'AB01', param: 'config.retry', type: 'Client Error' };
    peer.answers = [{ status, body: { error } }];
    const refused = await client.request(get).catch((caught: unknown) => caught);
    expect(refused).toBeInstanceOf(ApiRefusal);
    expect(refused).toMatchObject({
      status,
      message: 'no',
      code: 'AB01',
      param: 'config.retry',
      maybeDone: false,
    });
    expect(peer.seen).toHaveLength(1);
  });

  it('waits as long as the server asks, in seconds or until a date, up to a limit', async () => {
    const date = new Date(now + 7_000).toUTCString();
    peer.answers = [
      { status: 429, headers: { 'retry-after': '3' } },
      { status: 503, headers: { 'retry-after': date } },
      { status: 503, headers: { 'retry-after': '86400' } },
      {},
    ];
    await client.request(get);
    expect(pauses).toEqual([3_000, 7_000, 60_000]);
  });

  it('ends after six attempts with exit code 6 and the reason', async () => {
    peer.answers = [{ status: 503, body: { error: { message: 'busy' } } }];
    const given = await client.request(get).catch((caught: unknown) => caught);
    expect(given).toBeInstanceOf(Unreachable);
    expect(given).toMatchObject({
      kind: 'unreachable',
      message: expect.stringContaining('503 (busy)'),
    });
    expect(peer.seen).toHaveLength(6);
    expect(pauses).toEqual([150, 300, 600, 1_200, 2_400]);
  });

  it('ends at once when the signal is aborted', async () => {
    const controller = new AbortController();
    const impatient = new AdminClient({
      adminBaseUrl: peer.url,
      baseUrl: `${peer.url}/v1`,
      authUrl: peer.url,
      tsgId: '1',
      clientId: 'id',
      clientSecret: new Secret('x', 'test'),
      owner: 'o',
    });
    peer.answers = [{ status: 503, headers: { 'retry-after': '60' } }];
    const waiting = impatient.request({ ...get, signal: controller.signal });
    await expect.poll(() => peer.seen.length).toBe(1);
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    await impatient[Symbol.asyncDispose]();
  });
});
