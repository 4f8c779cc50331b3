/** Guarantees how the API of Kubernetes is asked: again where that is safe, never for long, and without quoting secrets. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { KubeClient, type KubeRequest } from '../../../src/kube/kube-client.ts';
import { Secret } from '../../../src/secret.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
});

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A client of a server that answers as given, the last one for good. */
async function clientOf(...answers: readonly Answer[]) {
  let asked = 0;
  const server = createServer((request, response) => {
    const answer = answers[Math.min(asked, answers.length - 1)]!;
    asked += 1;
    request.resume();
    request.on('end', () => answer(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const pauses: number[] = [];
  const clock = { ms: 0, now: () => clock.ms };
  const tokens = ['first', 'second'];
  const client = new KubeClient(
    {
      server: new URL(`http://127.0.0.1:${port}/cluster/`),
      ...{ ca: null, certificate: null, serverName: null },
      token: () => new Secret(tokens.shift() ?? 'last', 'test'),
    },
    clock,
    async (ms) => {
      pauses.push(ms);
    },
  );
  open.push(client, {
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  return { client, clock, pauses, asked: () => asked, port };
}

const status =
  (code: number, body: unknown = {}, headers: Record<string, string> = {}): Answer =>
  (_, response) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
const cut: Answer = (request) => request.socket.destroy();
const read: KubeRequest = { method: 'GET', path: '/api/v1/x', query: { limit: '5' } };
const write: KubeRequest = { method: 'POST', path: '/api/v1/x', body: { data: { k: 'canary' } } };

it('asks below the address of the cluster, with the token of the moment', async () => {
  const seen: string[] = [];
  const { client } = await clientOf((request, response) => {
    seen.push(`${request.url} ${request.headers.authorization}`);
    status(200, { ok: true })(request, response);
  });
  expect(await client.request(read)).toEqual({ ok: true });
  await client.request(read);
  expect(seen).toEqual([
    '/cluster/api/v1/x?limit=5 Bearer first',
    '/cluster/api/v1/x?limit=5 Bearer second',
  ]);
});

it.each([
  ['a cut connection', cut],
  ['500', status(500)],
  ['503', status(503)],
  ['429', status(429)],
])('a question that meets %s is asked again', async (_, answer) => {
  const { client, asked, pauses } = await clientOf(answer, answer, status(200, { ok: true }));
  expect(await client.request(read)).toEqual({ ok: true });
  expect([asked(), pauses.length]).toEqual([3, 2]);
});

it('a write is sent again only where it was certainly not done', async () => {
  const refused = await clientOf(
    status(429, {}, { 'retry-after': '2' }),
    status(201, { ok: true }),
  );
  expect(await refused.client.request(write)).toEqual({ ok: true });
  expect(refused.pauses).toEqual([2000]);
  for (const answer of [cut, status(500), status(504)]) {
    const lost = await clientOf(answer, status(201));
    await expect(lost.client.request(write)).rejects.toMatchObject({ kind: 'unreachable' });
    expect(lost.asked()).toBe(1);
    // Whether it was done can be asked at once.
    await lost.client.request(read);
  }
});

it('once a question has found no answer, others fail at once for a while', async () => {
  const { client, clock, asked, port } = await clientOf(cut);
  const message = `Kubernetes at http://127.0.0.1:${port} is out of reach`;
  await expect(client.request(read)).rejects.toThrow(message);
  expect(asked()).toBe(3);
  await expect(client.request(write)).rejects.toThrow(message);
  expect(asked()).toBe(3);
  clock.ms += 5_000;
  await expect(client.request(read)).rejects.toThrow(message);
  expect(asked()).toBe(6);
});

it('a refusal is told in the words of the API, and quotes nothing that was sent', async () => {
  const words = { reason: 'Forbidden', message: 'secrets is forbidden: User "x" cannot list' };
  const { client } = await clientOf(status(403, words), status(401, { message: 'Unauthorized' }));
  const refusal = await client.request(write).catch((error: Error) => error);
  expect(refusal).toMatchObject({ status: 403, reason: 'Forbidden' });
  expect(String(refusal)).toContain(words.message);
  expect(JSON.stringify(refusal) + String(refusal)).not.toMatch(/canary|first/);
  await expect(client.request(read)).rejects.toThrow('the credential is not accepted');
});
