/** Tests the bound of all request bodies in memory, on a real socket. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { z } from 'zod';
import { route } from '../../../src/http/routes/route.ts';
import { exchange } from '../../support/network/exchange.ts';
import { type HttpHarness, startHttp } from '../../support/server/http-server.ts';

const bodiesBytesMax = 100_000;
const echo = route({
  mounts: { v2: ['access-token'] },
  scope: 'x.y',
  method: 'PUT',
  path: '/things/:thingId',
  summary: 'Echo',
  body: z.object({ name: z.string() }),
  response: z.unknown(),
  handle: async ({ body }) => body.name.length,
});

let http: HttpHarness;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await http.server.close(0);
});

const send = (bytes: number) =>
  exchange(
    'PUT',
    `${http.url}/v2/things/a`,
    { name: 'x'.repeat(bytes) },
    {
      authorization: 'Bearer anna',
      'content-type': 'application/json',
    },
  );

/** Sends the head and the first `bytes` of a longer body. */
async function sendUnfinished(bytes: number): Promise<Socket> {
  const socket = connect(Number(new URL(http.url).port), '127.0.0.1');
  sockets.push(socket);
  await once(socket, 'connect');
  const head = `PUT /v2/things/a HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer anna\r\nContent-Type: application/json\r\nContent-Length: ${bytes + 1}\r\n\r\n`;
  socket.write(`${head}${'x'.repeat(bytes)}`);
  return socket;
}

it('returns 503 with Retry-After when bodies in memory leave no room, and serves again once they are gone', async () => {
  http = await startHttp([echo], { bodiesBytesMax });
  expect((await send(60_000)).status).toBe(200);
  const unfinished = await sendUnfinished(60_000);
  await expect.poll(async () => (await send(60_000)).status).toBe(503);
  const refused = await send(60_000);
  expect(refused.headers['retry-after']).toBe('1');
  expect(refused.body.error.message).toContain('leave no room');
  expect((await send(30_000)).status).toBe(200);
  unfinished.destroy();
  await expect.poll(async () => (await send(60_000)).status).toBe(200);
});

it('counts a body no longer than its request', async () => {
  http = await startHttp([echo], { bodiesBytesMax });
  const statuses = [];
  for (let round = 0; round < 5; round += 1) statuses.push((await send(60_000)).status);
  expect(statuses).toEqual([200, 200, 200, 200, 200]);
});
