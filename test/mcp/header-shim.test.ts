/** Tests the proxy that adds a key for the conformance suite: what it changes, and what it leaves alone. */
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it } from 'vitest';
import { startHeaderShim } from '../support/mcp/header-shim.ts';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function startTarget(
  answer: (received: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/server/mcp`;
}

/** Answers with the request that it received. */
async function startMirror(name: string): Promise<string> {
  return await startTarget(async (received, response) => {
    const { url, headers } = received;
    response.end(JSON.stringify({ name, url, headers, body: await text(received) }));
  });
}

const headers = { 'x-gateway-api-key': 'key of the test' };

it('adds its headers, and replaces only its own name in Host and Origin', async () => {
  const target = await startMirror('only');
  await using shim = await startHeaderShim({ targets: [target], headers });
  const { origin, host } = new URL(shim.url);
  const read = async (names: Readonly<Record<string, string>>): Promise<unknown> => {
    const sent = request(shim.url, { method: 'POST', headers: names });
    sent.end('{"a": 1}');
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return JSON.parse(await text(response));
  };
  expect(await read({ host, origin })).toMatchObject({
    url: '/server/mcp',
    body: '{"a": 1}',
    headers: { ...headers, host: new URL(target).host, origin: new URL(target).origin },
  });
  const foreign = { host: 'evil.example.com', origin: 'http://evil.example.com' };
  expect(await read(foreign)).toMatchObject({ headers: { ...headers, ...foreign } });
});

it('lets its targets take turns', async () => {
  const targets = [await startMirror('first'), await startMirror('second')];
  await using shim = await startHeaderShim({ targets, headers });
  const names: unknown[] = [];
  for (let count = 0; count < 4; count += 1) {
    const response = await fetch(shim.url);
    names.push(((await response.json()) as { name: string }).name);
  }
  expect(names).toEqual(['first', 'second', 'first', 'second']);
});

it('passes on each event at once, and ends the call when the client leaves', async () => {
  const left = Promise.withResolvers<void>();
  const target = await startTarget((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: first\n\n');
    response.once('close', () => left.resolve());
  });
  await using shim = await startHeaderShim({ targets: [target], headers });
  const abort = new AbortController();
  const response = await fetch(shim.url, { signal: abort.signal });
  const { value } = await response.body!.getReader().read();
  expect(Buffer.from(value!).toString()).toBe('data: first\n\n');
  abort.abort();
  await left.promise;
});
