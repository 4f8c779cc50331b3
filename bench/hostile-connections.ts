/** Measures how clients that send requests but never read responses affect the server and other clients. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request as send } from 'undici';
import { startTestDatabaseServer } from '../test/support/database/database-server.ts';
import type { Member, Row } from './harness.ts';
import { environment, residentMiB, type Server, setUp, startProduct } from './product.ts';

const connections = 1000;
const requestsPerConnection = 50;
const connectsAtOnce = 50;
const floodMs = 10_000;
const requestEveryMs = 20;

export const member: Member = {
  name: 'connections that send and never read',
  run: async (): Promise<Row[]> => {
    const database = await startTestDatabaseServer();
    const env = environment(database.server);
    let server: Server | null = null;
    try {
      await setUp(database.server, env);
      server = await startProduct(env);
      const rows: Row[] = [];
      for (const path of ['/openapi.json', '/livez']) rows.push(...(await flood(server, path)));
      return rows;
    } finally {
      server?.process.kill('SIGKILL');
      await database.stop();
    }
  },
};

/** Sends 50,000 requests on 1,000 connections, reads no response and times `/livez` from another client. */
async function flood({ url, process: child }: Server, path: string): Promise<Row[]> {
  const { hostname, port } = new URL(url);
  const requests = `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`.repeat(
    requestsPerConnection,
  );
  const sockets: Socket[] = [];
  const politeClient = new Agent({ connections: 1 });
  const waits: number[] = [];
  let isOver = false;
  const polling = (async () => {
    while (!isOver) {
      const requested = performance.now();
      const response = await send(`${url}/livez`, { dispatcher: politeClient });
      await response.body.dump();
      waits.push(performance.now() - requested);
      await delay(requestEveryMs);
    }
  })();
  for (let made = 0; made < connections; made += connectsAtOnce) {
    const batch = Array.from({ length: connectsAtOnce }, () => connect(Number(port), hostname));
    for (const socket of batch) {
      // The server is expected to close these connections.
      socket.on('error', () => undefined).pause();
      sockets.push(socket);
    }
    await Promise.all(batch.map((socket) => once(socket, 'connect')));
    for (const socket of batch) socket.write(requests);
  }
  await delay(floodMs);
  isOver = true;
  await polling;
  const memory = residentMiB(child.pid!);
  for (const socket of sockets) socket.destroy();
  await politeClient.close();
  const sorted = waits.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)]!;
  return [
    { metric: `${path}: ms of /livez, 90th percentile`, ratio: at(0.9), aim: 100 },
    { metric: `${path}: ms of /livez, longest`, ratio: at(1), aim: 100 },
    { metric: `${path}: MiB resident`, ratio: memory, aim: 300 },
  ];
}
