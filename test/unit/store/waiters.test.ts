/**
 * Checks that requests time out because the database is slow, not because the process was blocked.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Waiters } from '../../../src/store/connection/waiters.ts';

const timeoutMs = 20;

/** Two ends of one connection. */
async function connected(): Promise<{ ends: readonly [Socket, Socket] } & Disposable> {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-waiters-'));
  const server = createServer().listen(join(folder, 'socket'));
  await once(server, 'listening');
  const near = connect(join(folder, 'socket'));
  const [[far]] = await Promise.all([once(server, 'connection'), once(near, 'connect')]);
  return {
    ends: [near, far],
    [Symbol.dispose]: () => {
      for (const end of [near, far]) end.destroy();
      server.close();
      rmSync(folder, { recursive: true });
    },
  };
}

function standStill(): void {
  const until = performance.now() + 3 * timeoutMs;
  while (performance.now() < until);
}

it('accepts a response that arrived while the process was blocked, however long that was', async () => {
  using pair = await connected();
  const [near, far] = pair.ends;
  const given = Promise.withResolvers<string>();
  const waiters = new Waiters(timeoutMs, () => given.resolve('given up'));
  waiters.add(given.reject);
  near.once('data', () => {
    waiters.remove(given.reject);
    given.resolve('answered');
  });
  far.write('answer');
  standStill();
  expect(await given.promise).toBe('answered');
});

it('gives up on a missing response, also when the process was blocked', async () => {
  const given = Promise.withResolvers<number>();
  const waiters = new Waiters(timeoutMs, given.resolve);
  waiters.add(given.reject);
  standStill();
  expect(await given.promise).toBe(timeoutMs);
});
