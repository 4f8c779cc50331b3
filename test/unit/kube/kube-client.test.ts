/** Tests that calls to Kubernetes are retried only where that is safe, are bounded, and quote no secrets. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { afterEach, expect, it } from 'vitest';
import { KubeClient } from '../../../src/kube/kube-client.ts';
import { getObject, listSecrets, removeKey } from '../../../src/kube/kube-objects.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
});

type Responder = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** A client of a server that responds as given; the last responder repeats. */
async function clientOf(...responders: readonly Responder[]) {
  let calls = 0;
  const server = createServer(async (request, response) => {
    const responder = responders[Math.min(calls, responders.length - 1)]!;
    calls += 1;
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    responder(request, response, body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const pauses: number[] = [];
  const clock = { ms: 0, now: () => clock.ms };
  const tokens = ['first', 'second'];
  const client = new KubeClient({
    config: () => {
      const config = new KubeConfig();
      config.loadFromClusterAndUser(
        { name: 'test', server: `http://127.0.0.1:${port}/cluster`, skipTLSVerify: true },
        { name: 'test', token: tokens.shift() ?? 'last' },
      );
      return config;
    },
    clock,
    pause: async (ms) => {
      pauses.push(ms);
    },
  });
  open.push(client, {
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  return { client, clock, pauses, calls: () => calls, port };
}

const status =
  (code: number, body: unknown = {}, headers: Record<string, string> = {}): Responder =>
  (_, response) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
const cut: Responder = (request) => request.socket.destroy();
const metadata = { name: 's', namespace: 'n', uid: 'u', resourceVersion: '1' };
const secret = { metadata, data: { k: 'Y2FuYXJ5' } };
const read = (client: KubeClient) => getObject(client, 'secrets', 'n', 's');
const write = (client: KubeClient) =>
  client.core.createNamespacedSecret({ namespace: 'n', body: { stringData: { k: 'canary' } } });

it('sends requests below the address of the cluster, and renews a rejected token', async () => {
  const requests: string[] = [];
  const { client } = await clientOf((request, response, body) => {
    requests.push(`${request.url} ${request.headers.authorization}`);
    const isRejected = requests.length === 2;
    status(isRejected ? 401 : 200, secret)(request, response, body);
  });
  expect(await read(client)).toEqual(secret);
  await read(client);
  await read(client);
  const path = '/cluster/api/v1/namespaces/n/secrets/s';
  expect(requests).toEqual(
    ['first', 'first', 'second', 'second'].map((token) => `${path} Bearer ${token}`),
  );
});

it('lists all pages of the Secrets that have the labels', async () => {
  const urls: string[] = [];
  const { client } = await clientOf((request, response, body) => {
    urls.push(request.url!);
    const page = { items: [secret], metadata: urls.length === 1 ? { continue: 'a b' } : {} };
    status(200, page)(request, response, body);
  });
  expect(await listSecrets(client, 'n', { one: '1', 'x.dev/two': '2' })).toEqual([secret, secret]);
  const query = 'labelSelector=one%3D1%2Cx.dev%2Ftwo%3D2&limit=500';
  const queries = urls.map((url) => new URL(url, 'http://x').searchParams);
  expect(queries.map((one) => one.get('continue'))).toEqual([null, 'a b']);
  for (const one of queries) {
    one.delete('continue');
    one.sort();
    expect(String(one)).toBe(query);
  }
});

it('removes one key by a merge patch that names the version', async () => {
  const requests: string[] = [];
  const { client } = await clientOf((request, response, body) => {
    requests.push(`${request.method} ${request.headers['content-type']} ${body}`);
    status(200, secret)(request, response, body);
  });
  expect(await removeKey(client, { metadata, data: { k: '', other: '' } }, 'k')).toBe(true);
  expect(await removeKey(client, { metadata, data: { k: '' } }, 'k')).toBe(true);
  expect(requests).toEqual([
    'PATCH application/merge-patch+json {"metadata":{"uid":"u","resourceVersion":"1"},"data":{"k":null}}',
    'DELETE application/json {"preconditions":{"resourceVersion":"1","uid":"u"}}',
  ]);
});

it.each([
  ['a cut connection', cut],
  ['500', status(500)],
  ['503', status(503)],
  ['429', status(429)],
])('retries a read that meets %s', async (_, responder) => {
  const { client, calls, pauses } = await clientOf(responder, responder, status(200, secret));
  expect(await read(client)).toEqual(secret);
  expect([calls(), pauses.length]).toEqual([3, 2]);
});

it('sends a write again only when it was certainly not done', async () => {
  const refused = await clientOf(status(429, {}, { 'retry-after': '2' }), status(201, secret));
  expect(await write(refused.client)).toMatchObject(secret);
  expect(refused.pauses).toEqual([2000]);
  for (const responder of [cut, status(500), status(504)]) {
    const lost = await clientOf(responder, status(200, secret));
    await expect(write(lost.client)).rejects.toMatchObject({ kind: 'unreachable' });
    expect(lost.calls()).toBe(1);
    // The caller can check at once whether the write was done.
    await read(lost.client);
  }
});

it('fails at once for some seconds after a read has found no server', async () => {
  const { client, clock, calls, port } = await clientOf(cut);
  const message = `Kubernetes at http://127.0.0.1:${port} is out of reach`;
  await expect(read(client)).rejects.toThrow(message);
  expect(calls()).toBe(3);
  await expect(write(client)).rejects.toThrow(message);
  expect(calls()).toBe(3);
  clock.ms += 5_000;
  await expect(read(client)).rejects.toThrow(message);
  expect(calls()).toBe(6);
});

it('reports a refusal with the message of the API, and quotes nothing that was sent', async () => {
  const details = { reason: 'Forbidden', message: 'secrets is forbidden: User "x" cannot list' };
  const { client } = await clientOf(status(403, details), status(401, { message: 'Unauthorized' }));
  const refusal = await write(client).catch((error: Error) => error);
  expect(refusal).toMatchObject({ status: 403, reason: 'Forbidden' });
  expect(String(refusal)).toContain(details.message);
  expect(JSON.stringify(refusal) + String(refusal)).not.toMatch(/canary|first/);
  await expect(read(client)).rejects.toThrow('the credential is not accepted');
});
