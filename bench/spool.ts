/** Measures the CPU time that a request costs the spool, against the cost of a request in a bare proxy. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RequestLog } from '../src/gateway/logs/request-log.ts';
import { newId } from '../src/model/wire/ids.ts';
import { Spool } from '../src/spool/spool.ts';
import { requestRecord } from '../test/support/rows/request-records.ts';
import { chatBody } from './gateway/arena.ts';
import { startBare, startStub, stop } from './gateway/contestants.ts';
import { Load, requestBytes } from './gateway/load-client.ts';
import { type Member, quartilesOf, type Row } from './harness.ts';
import { cpuMs } from './product.ts';

const rounds = 7;
const requests = 8_000;
const proxied = 4_000;
const connections = 64;
/** Records per batch; a short pause follows, in which started writes proceed. */
const atOnce = 100;
const spoolBytesMax = 256 * 1024 * 1024;

export const member: Member = {
  name: 'the spool against a bare proxy',
  run: async (scale): Promise<Row[]> => {
    const stub = await startStub();
    const bare = await startBare(stub.url);
    const directory = mkdtempSync(join(tmpdir(), 'gatewright-bench-'));
    try {
      const bytes = requestBytes({ authorization: 'Bearer sk-bench' }, chatBody());
      const load = await Load.open(bare.url, connections);
      const ratios: number[] = [];
      for (let round = -1; round < Math.ceil(rounds * scale); round += 1) {
        const without = await recordUs(Math.ceil(requests * scale), null);
        const withSpool = await recordUs(Math.ceil(requests * scale), directory);
        const before = cpuMs(bare.pid);
        await load.send(proxied, () => bytes);
        const bareUs = ((cpuMs(bare.pid) - before) * 1_000) / proxied;
        if (round >= 0) ratios.push((withSpool - without) / bareUs);
      }
      load.close();
      const [lower, ratio, upper] = quartilesOf(ratios);
      return [{ metric: 'CPU of the spool, over L', ratio, aim: 0.1, quartiles: [lower, upper] }];
    } finally {
      for (const one of [bare, stub]) await stop(one);
      rmSync(directory, { recursive: true, force: true });
    }
  },
};

/** CPU time of one log row in µs in this process, with all that follows except for the database. */
async function recordUs(count: number, directory: string | null): Promise<number> {
  const spool = directory === null ? null : openSpool(directory);
  const log = new RequestLog({
    database: { transaction: () => Promise.reject(new Error('the rows go to the sink')) },
    sink: { write: async () => undefined },
    openStream: spool && ((terms) => spool.stream(terms)),
    onLoss: (error) => console.error(error),
  });
  await spool?.open();
  const organisationId = randomUUID();
  const of = { workspaceId: randomUUID(), apiKeyId: randomUUID(), configId: randomUUID() };
  const before = process.cpuUsage();
  for (let made = 0; made < count; made += 1) {
    log.record(requestRecord(organisationId, { ...of, id: newId() }));
    if (made % atOnce === 0) await delay(1);
  }
  await log.close(60_000);
  const { user, system } = process.cpuUsage(before);
  await spool?.[Symbol.asyncDispose]();
  return (user + system) / count;
}

function openSpool(directory: string): Spool {
  return new Spool({
    directory,
    bytesMax: spoolBytesMax,
    readKey: () => Buffer.alloc(32, 7),
    now: Date.now,
    onDamage: ({ reason }) => console.error(reason),
  });
}
