/** Tests the bounds of sessions of HTTP+SSE: how many a caller has, how long an idle one stays, and how long an event may be. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  EventSessions,
  type EventSessionsOptions,
} from '../../../src/mcp/event-transport/event-sessions.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { Origins } from '../../../src/upstream/origins.ts';
import { eventually } from '../../support/server/eventually.ts';

const trusted = readTrustedHosts('127.0.0.1');
const origins = new Origins('hosts' in trusted ? trusted.hosts : []);
let server: Server;
/** Streams that the server keeps open, by number. */
let streams: Map<number, ServerResponse>;
let url: URL;

beforeEach(async () => {
  streams = new Map();
  let opened = 0;
  server = createServer((request, response) => {
    if (request.method === 'GET') {
      opened += 1;
      const number = opened;
      streams.set(
        number,
        response.on('close', () => streams.delete(number)),
      );
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`event: endpoint\ndata: /message?at=${number}\n\n`);
      return;
    }
    const stream = streams.get(Number(/at=(\d+)/.exec(request.url!)![1]));
    request.on('data', (chunk) => {
      const { id } = JSON.parse(String(chunk));
      response.writeHead(202).end();
      const answer = JSON.stringify({ jsonrpc: '2.0', id, result: { capabilities: {} } });
      stream?.write(`event: message\ndata: ${answer}\n\n`);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/sse`);
});
afterEach(async () => {
  vi.useRealTimers();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

const sessionsWith = (more: Partial<EventSessionsOptions>) =>
  new EventSessions({ origins, ownAddress: () => 'http://own', ...more });

/** Opens a session of a caller. */
async function open(sessions: EventSessions, principal: string) {
  const message = { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} };
  const body = Buffer.from(JSON.stringify(message));
  const request = { principal, url, method: 'POST', headers: {}, body } as const;
  const call = sessions.call({ ...request, silenceTimeoutMs: 0 });
  await call.responseStarted;
  await new Promise<void>((end) => call.pipe({ data: () => true, end, fail: () => end() }));
  return call;
}

it('ends the oldest session of a caller that keeps opening new ones, and of no other caller', async () => {
  using sessions = sessionsWith({ sessionsOfCallerMax: 2 });
  await open(sessions, 'calm');
  for (let at = 0; at < 6; at += 1) await open(sessions, 'flooding');
  expect(sessions.size).toBe(3);
  await eventually(() => expect(streams.size).toBe(3));
});

it('ends the oldest session of all where the process has no room', async () => {
  using sessions = sessionsWith({ sessionsMax: 3 });
  for (let at = 0; at < 6; at += 1) await open(sessions, `caller ${at}`);
  expect(sessions.size).toBe(3);
  await eventually(() => expect(streams.size).toBe(3));
});

it('ends a session that nobody uses', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] });
  using sessions = sessionsWith({ idleMs: -1 });
  await open(sessions, 'gone');
  expect(sessions.size).toBe(1);
  vi.advanceTimersByTime(30_000);
  expect(sessions.size).toBe(0);
  vi.useRealTimers();
  await eventually(() => expect(streams.size).toBe(0));
});

it('ends the session with an event that is too long', async () => {
  using sessions = sessionsWith({});
  await open(sessions, 'one');
  const [stream] = streams.values();
  stream!.write(`data: ${'x'.repeat(9 * 1024 * 1024)}`);
  await eventually(() => expect([sessions.size, streams.size]).toEqual([0, 0]));
});
