/** Measures the memory of a gateway that holds many unfinished bodies of one key. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Member, Row } from './harness.ts';
import type { HostileServerReady } from './hostile-server.ts';
import { residentMiB } from './product.ts';

const bodies = 30;
const mebibyte = 1024 * 1024;
const bodyBytes = 31 * mebibyte;
/** Bound of all bodies, as in a container of 1 GiB; one key may hold half. */
const boundMiB = 256;
const sampleMs = 100;
const settleMs = 5_000;

export const member: Member = {
  name: 'unfinished bodies: memory of the gateway',
  run: async (): Promise<Row[]> => {
    const script = resolve(import.meta.dirname, 'hostile-server.ts');
    const child = fork(script, ['127.0.0.1:1', String(boundMiB)], { stdio: 'inherit' });
    try {
      const [server] = (await once(child, 'message')) as [HostileServerReady];
      const key = await keyOf(server);
      const before = residentMiB(child.pid!);
      let most = before;
      const sampling = setInterval(() => {
        most = Math.max(most, residentMiB(child.pid!));
      }, sampleMs);
      const sockets = await Promise.all(
        Array.from({ length: bodies }, () => sendUnfinished(server.inferenceUrl, key)),
      );
      await delay(settleMs);
      const held = residentMiB(child.pid!);
      for (const socket of sockets) socket.destroy();
      await delay(settleMs);
      clearInterval(sampling);
      const after = residentMiB(child.pid!);
      const what = `${bodies} bodies of ${bodyBytes / mebibyte} MiB of one key`;
      return [
        { metric: `MiB resident before ${what}`, ratio: before, aim: null },
        { metric: 'MiB more at most', ratio: most - before, aim: null },
        { metric: 'MiB more while they are unfinished', ratio: held - before, aim: boundMiB },
        { metric: 'MiB more once they are abandoned', ratio: after - before, aim: 128 },
      ];
    } finally {
      child.disconnect();
      await once(child, 'exit');
    }
  },
};

async function keyOf({ url, token }: HostileServerReady): Promise<string> {
  const response = await fetch(`${url}/v1/api-keys/organisation/service`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'hostile', scopes: ['completions.write'] }),
  });
  return ((await response.json()) as { key: string }).key;
}

/** Sends all of a body but its last byte, as far as the gateway reads it. */
async function sendUnfinished(url: string, key: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined);
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\ncontent-length: ${bodyBytes}\r\n\r\n`,
  );
  socket.write(Buffer.alloc(bodyBytes - 1, 0x20));
  await Promise.race([
    once(socket, 'drain').catch(() => undefined),
    once(socket, 'close').catch(() => undefined),
    delay(settleMs),
  ]);
  return socket;
}
