/** Tests the response to a request over HTTP+SSE: order, slow readers, ends and failures. */
import { expect, it } from 'vitest';
import { EventCall } from '../../../src/mcp/event-transport/event-call.ts';

function reading(call: EventCall, takes: () => boolean = () => true): string[] {
  const seen: string[] = [];
  call.pipe({
    data: (chunk) => {
      seen.push(chunk.toString());
      return takes();
    },
    end: () => seen.push('end'),
    fail: (error) => seen.push(`fail ${error.message}`),
  });
  return seen;
}

it('has a response that arrives before the server has accepted the request', async () => {
  const call = new EventCall(0);
  call.push(Buffer.from('a'));
  call.end(null);
  call.begin(200, {});
  await call.responseStarted;
  expect([call.status, reading(call)]).toEqual([200, ['a', 'end']]);
});

it('waits for a slow reader, and ends once', () => {
  const call = new EventCall(0);
  call.begin(200, {});
  let isSlow = true;
  const seen = reading(call, () => !isSlow);
  for (const text of ['a', 'b', 'c']) call.push(Buffer.from(text));
  call.end(null);
  expect(seen).toEqual(['a']);
  isSlow = false;
  call.resume();
  call.resume();
  expect(seen).toEqual(['a', 'b', 'c', 'end']);
});

it('fails when more waits than may', () => {
  const call = new EventCall(0);
  call.begin(200, {});
  const seen = reading(call, () => false);
  for (let at = 0; at < 20; at += 1) call.push(Buffer.alloc(1024 * 1024));
  expect(seen.at(-1)).toContain('are not read in time');
});

it('rejects before its head, and tells whoever waits for its end', async () => {
  const call = new EventCall(0);
  let ends = 0;
  call.onEnd(() => {
    ends += 1;
  });
  call.cut(new Error('gone'));
  call.end(null);
  await expect(call.responseStarted).rejects.toThrow('gone');
  call.begin(200, {});
  expect([call.status, call.hasFailed, ends]).toEqual([0, true, 1]);
});
