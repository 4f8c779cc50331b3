/** Verifies the bounds of realtime sessions in number, duration and silence, and that a silent peer is noticed. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { PeerSocket } from '../../../src/gateway/realtime/peer-socket.ts';
import { monotonicMs } from '../../../src/monotonic.ts';
import { type RealtimeServer, startRealtime } from '../../support/server/realtime.ts';
import { testSettings } from '../../support/server/server.ts';

const { inference } = testSettings();
const withBounds = (more: Partial<typeof inference.realtime>) =>
  startRealtime({ inference: { ...inference, realtime: { ...inference.realtime, ...more } } });

describe('the number of sessions', () => {
  let realtime: RealtimeServer;
  beforeAll(async () => {
    realtime = await withBounds({ sessionsMax: 2, sessionsOfKeyMax: 1 });
  });
  afterAll(() => realtime[Symbol.asyncDispose]());

  it('is bounded for each key and for the process, and ended sessions count no longer', async () => {
    const keys = [];
    for (let at = 0; at < 3; at += 1) keys.push((await realtime.addKey()).key);
    const [first, second, third] = keys as [string, string, string];
    const opened = await realtime.connect(first);
    expect(await realtime.refusal(first)).toMatchObject({
      status: 429,
      body: expect.stringContaining('rate_limit_exceeded'),
    });
    const other = await realtime.connect(second);
    expect(await realtime.refusal(third)).toMatchObject({
      status: 503,
      body: expect.stringContaining('unavailable'),
    });
    opened.socket.close();
    await opened.closed;
    await realtime.provider.sessions[0]!.closed;
    const again = await realtime.connect(third);
    for (const caller of [other, again]) caller.socket.close();
    await Promise.all([other.closed, again.closed]);
  });
});

describe('a session', () => {
  it.each([
    ['reaches its longest duration', { sessionMs: 1 }, /longest duration/],
    ['is silent for too long', { idleMs: 1 }, /nothing was sent/],
  ])('is closed with 1001 on both sides when it %s', async (_, bounds, reason) => {
    await using realtime = await withBounds(bounds);
    const { key } = await realtime.addKey();
    const opened = realtime.provider.next();
    const caller = await realtime.connect(key);
    const provider = await opened;
    expect(await caller.closed).toMatchObject({
      code: 1001,
      reason: expect.stringMatching(reason),
    });
    expect(await provider.closed).toBe(1000);
  });
});

describe('a peer', () => {
  it.each([
    ['answers pings', true],
    ['answers no pings', false],
  ])('is told apart when it %s (alive: %s)', async (_, autoPong) => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const accepted = once(server, 'connection') as Promise<[WebSocket]>;
    const client = new WebSocket(`ws://127.0.0.1:${port}`, { autoPong });
    const [socket] = await accepted;
    await once(client, 'open');
    const peer = new PeerSocket(socket);
    peer.start({ onMessage: () => {}, onDrain: () => {}, onClose: () => {} });
    const began = monotonicMs();
    const pinged = once(client, 'ping');
    expect(peer.checkAlive(began + 20_000, 20_000)).toBe(true);
    await pinged;
    if (autoPong) await once(socket, 'pong');
    expect(peer.checkAlive(began + 40_001, 20_000)).toBe(autoPong);
    client.terminate();
    server.close();
  });
});
