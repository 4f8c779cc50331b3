/** Tests the queue of messages: order, waiting readers and writers, and ends. */
import { describe, expect, it } from 'vitest';
import { MessageQueue } from '../../../../src/mcp/legacy-sessions/message-queue.ts';

const message = (id: number) => ({ jsonrpc: '2.0', id });
const isDone = async (work: Promise<unknown>) =>
  (await Promise.race([work.then(() => 'done'), Promise.resolve('waiting')])) === 'done';

describe('a queue of messages', () => {
  it('returns messages in order, and reports the end after the last one', async () => {
    const queue = new MessageQueue();
    await queue.put(message(1), 10);
    await queue.put(message(2), 10);
    queue.end(null);
    await queue.put(message(3), 10);
    expect(await queue.take(null)).toEqual({ kind: 'message', message: message(1) });
    expect(await queue.take(null)).toEqual({ kind: 'message', message: message(2) });
    expect(await queue.take(null)).toEqual({ kind: 'end', error: null });
  });

  it('wakes a waiting reader, and reports silence and the first error', async () => {
    const queue = new MessageQueue();
    const waiting = queue.take(null);
    await queue.put(message(1), 10);
    expect(await waiting).toMatchObject({ kind: 'message' });
    expect(await queue.take(0)).toEqual({ kind: 'silence' });
    const ending = queue.take(null);
    const error = new Error('broken');
    queue.end(error);
    queue.end(null);
    expect(await ending).toEqual({ kind: 'end', error });
  });

  it('holds writers back while too many bytes are queued, and lets them go at the end', async () => {
    const queue = new MessageQueue();
    const large = 300 * 1024;
    const first = queue.put(message(1), large);
    expect(await isDone(first)).toBe(false);
    await queue.take(null);
    await first;
    const second = queue.put(message(2), large);
    expect(await isDone(second)).toBe(false);
    queue.end(null);
    await second;
  });
});
