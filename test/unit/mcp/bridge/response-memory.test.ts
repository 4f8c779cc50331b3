/** Tests that messages which a bridge reads count in the memory for responses of servers, and for how long. */
import { describe, expect, it } from 'vitest';
import { BodyMemory } from '../../../../src/gateway/transfer/body-memory.ts';
import type { BodyHold } from '../../../../src/http/input/body-hold.ts';
import { messagesIn } from '../../../../src/mcp/bridge/response-messages.ts';
import {
  readResponse,
  startOfStream,
} from '../../../../src/mcp/legacy-sessions/legacy-transport.ts';
import { replayed } from '../../../../src/mcp/transfer/read-response.ts';

const bytesMax = 1_000;
const bounds = { valuesMax: 1_000, depthMax: 64 };
const text = 'x'.repeat(600);
const message = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { text } });

function responseOf(type: string, body: string) {
  const head = { status: 200, headers: { 'content-type': type } };
  const started = { isSent: true, responseStarted: Promise.resolve() };
  return {
    ...replayed({ ...head, pipe() {}, resume() {}, cut() {} }, Buffer.from(body)),
    ...started,
  };
}

type Take = (message: unknown) => Promise<void>;
type Response = ReturnType<typeof responseOf>;

const readers: [string, (response: Response, memory: BodyHold, take: Take) => Promise<void>][] = [
  [
    'a legacy client',
    async (response, memory, take) => {
      for await (const one of messagesIn(response, { memory, bounds })) await take(one);
    },
  ],
  [
    'a modern client',
    (response, memory, take) => readResponse(response, take, startOfStream(), { memory, bounds }),
  ],
];

describe.each(readers)('the memory for a response to %s', (_, read) => {
  it.each([
    ['application/json', message],
    ['text/event-stream', `data: ${message}\n\n`],
  ])('counts a message of the type %s until it is taken', async (type, body) => {
    const memory = new BodyMemory(bytesMax, bytesMax);
    const taken: unknown[] = [];
    await read(responseOf(type, body), memory.hold('key'), async (one) => {
      taken.push(one);
      expect(memory.bytes).toBe(body.length);
      const second = read(responseOf(type, body), memory.hold('other'), async () => {});
      await expect(second).rejects.toMatchObject({ code: 'unavailable' });
    });
    expect([taken, memory.bytes]).toEqual([[JSON.parse(message)], 0]);
  });

  it('counts no event that has been taken', async () => {
    const memory = new BodyMemory(bytesMax, bytesMax);
    const event = `data: ${message}\n\n`;
    const response = responseOf('text/event-stream', '');
    const chunks = Array.from({ length: 20 }, () => Buffer.from(event));
    const pipe: Response['pipe'] = (sink) => {
      const next = (): void => {
        const chunk = chunks.shift();
        if (chunk === undefined) sink.end();
        else {
          sink.data(chunk);
          setImmediate(next);
        }
      };
      next();
    };
    let taken = 0;
    await read({ ...response, pipe }, memory.hold('key'), async () => {
      taken += 1;
    });
    expect([taken, memory.bytes]).toEqual([20, 0]);
  });
});
