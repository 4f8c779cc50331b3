/** Checks that a caller who stops reading does not hold the provider's connection. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Pool } from 'undici';
import { afterEach, expect, it } from 'vitest';
import { Caller } from '../../../src/gateway/transfer/caller.ts';
import { type RelayEnd, relay } from '../../../src/gateway/transfer/relay.ts';
import { isEventStream } from '../../../src/model/wire/media-type.ts';
import { Call } from '../../../src/upstream/call.ts';

const stack: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of stack.splice(0).toReversed()) await close();
});

async function serve(listener: RequestListener): Promise<number> {
  const server: Server = createServer(listener);
  stack.push(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

it.each(['text/event-stream', 'application/json'])(
  'cuts off a caller who does not read a response of %s, and closes the response',
  async (type) => {
    const cut = Promise.withResolvers<void>();
    const port = await serve((_, response) => {
      response.writeHead(200, { 'content-type': type });
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(64 * 1024)));
      };
      response.on('drain', more).on('close', () => cut.resolve());
      more();
    });
    const pool = new Pool(`http://127.0.0.1:${port}`);
    stack.push(() => pool.destroy());
    const ended = Promise.withResolvers<RelayEnd>();
    const gateway = await serve(async (_, response) => {
      const request = { origin: `http://127.0.0.1:${port}`, path: '/', method: 'GET' as const };
      const call = new Call(pool, {
        ...request,
        headers: {},
        body: null,
        silenceTimeoutMs: 60_000,
      });
      await call.responseStarted;
      const end = await relay(call, {
        response,
        caller: new Caller(response),
        headerPrefix: 'x-gateway-',
        headers: () => ({}),
        events: null,
        lingerMs: 0,
        stalledMs: 100,
        isRewritten: false,
        status: null,
        trailer: null,
        onFirst: () => undefined,
        onWhole: (body) => ({ headers: {}, body }),
      });
      ended.resolve(end);
    });
    const caller = connect(gateway, '127.0.0.1').pause();
    stack.push(() => caller.destroy());
    caller.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await cut.promise;
    expect((await ended.promise).kind).toBe('left');
  },
);

it.each(['text/event-stream', 'Text/Event-Stream; charset=UTF-8'])(
  'recognises a stream by %s',
  (type) => {
    expect(isEventStream({ 'content-type': type })).toBe(true);
  },
);
