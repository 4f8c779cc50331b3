/** Verifies that a reader of a gated socket gets all bytes at any pace. */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { EventLoopTurns } from '../../../src/http/connections/event-loop-turns.ts';
import { GatedSocket } from '../../../src/http/connections/gated-socket.ts';
import { defaultHttpLimits } from '../../../src/http/server/http-server-options.ts';

it.each([1_000, 10_000, 70_000])(
  'delivers all bytes in chunks of %i to a reader that pauses after each chunk',
  async (pieceBytes) => {
    const body = Buffer.alloc(1024 * 1024, 'a');
    let received = 0;
    const accepted: Socket[] = [];
    const server = createServer((socket) => {
      accepted.push(socket);
      const gate = new GatedSocket(socket, defaultHttpLimits, new EventLoopTurns());
      gate.on('data', (chunk: Buffer) => {
        received += chunk.length;
        gate.pause();
        setImmediate(() => setImmediate(() => gate.resume()));
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').setNoDelay(true);
    for (let at = 0; at < body.length; at += pieceBytes) {
      socket.write(body.subarray(at, at + pieceBytes));
      await new Promise((done) => setImmediate(done));
    }
    try {
      await expect.poll(() => received).toBe(body.length);
    } finally {
      for (const end of [socket, ...accepted]) end.destroy();
    }
    server.close();
    await once(server, 'close');
  },
);
