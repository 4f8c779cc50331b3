/** Measures the CPU cost of the request log in its process, against the cost of a request in the bare proxy. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { RequestLog } from '../../src/gateway/logs/request-log.ts';
import type { RequestRecord } from '../../src/gateway/logs/request-record.ts';
import { newId } from '../../src/model/wire/ids.ts';
import { readSettings } from '../../src/settings.ts';
import { openDatabase } from '../../src/store/connection/db.ts';
import { requestRecord } from '../../test/support/rows/request-records.ts';
import { quartilesOf, type Row } from '../harness.ts';
import { cpuMs, environment } from '../product.ts';
import { type Arena, chatBody } from './arena.ts';
import { Load } from './load-client.ts';

const rounds = 7;
const requests = 8_000;
const proxied = 4_000;
const connections = 64;
/** Records per batch; a short pause follows, in which started writes proceed. */
const atOnce = 100;

/** Runs in this process, which creates the records in both cases and in one case discards them. */
export async function requestLogRows(arena: Arena, scale: number): Promise<Row[]> {
  const { database: place } = readSettings(environment(arena.database.server));
  await using database = openDatabase(place!);
  const { url, pid } = arena.running.bare;
  const bytes = arena.request('bare', chatBody());
  const load = await Load.open(url, connections);
  const count = Math.ceil(requests * scale);
  const ratios: number[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const without = await cpuUsOf(count, () => {});
    const log = new RequestLog({ database, onLoss: (error) => console.error(error) });
    const withLog = await cpuUsOf(count, (entry) => log.record(entry), log);
    const before = cpuMs(pid);
    await load.send(proxied, () => bytes);
    const bareUs = ((cpuMs(pid) - before) * 1_000) / proxied;
    if (round >= 0) ratios.push((withLog - without) / bareUs);
  }
  load.close();
  const [lower, ratio, upper] = quartilesOf(ratios);
  const metric = 'CPU of writing a log row, over L';
  return [{ metric, ratio, aim: 0.25, quartiles: [lower, upper] }];
}

/** CPU time of one record in µs, including the work that follows from it. */
async function cpuUsOf(
  count: number,
  handle: (entry: RequestRecord) => void,
  log?: RequestLog,
): Promise<number> {
  const organisationId = randomUUID();
  const of = { workspaceId: randomUUID(), apiKeyId: randomUUID(), configId: randomUUID() };
  const before = process.cpuUsage();
  for (let made = 0; made < count; made += 1) {
    handle(requestRecord(organisationId, { ...of, id: newId() }));
    if (made % atOnce === 0) await delay(1);
  }
  await log?.close(60_000);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}
