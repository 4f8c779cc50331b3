/** Measures the database cost of usage accounting and the request log against one UPDATE per request. */
import { setTimeout as delay } from 'node:timers/promises';
import { createPool, type Pool } from 'mysql2/promise';
import { quartilesOf, type Row } from '../harness.ts';
import { cpuMs, databaseName } from '../product.ts';
import { type Arena, chatBody } from './arena.ts';
import { Load, requestBytes } from './load-client.ts';

const rounds = 5;
const requests = 8_000;
const connections = 64;
const counters = 1_000;
const statementConnections = 12;
/** Log rows are written within a second; usage is reported sooner. */
const settleMs = 1_500;

/**
 * Alternates between three workloads with the same number of requests:
 * - a key without limits, for which the database only receives log rows;
 * - a key with budgets on itself and its workspace and a rate limit, which adds three counters;
 * - the same number of UPDATE statements.
 *
 * The ledger costs what the second adds to the first. The time-based cost of an idle gateway is subtracted.
 */
export async function accountingRows(arena: Arena, scale: number): Promise<Row[]> {
  const { plainKey, limitedKey } = arena.tenant;
  const count = Math.ceil(requests * scale);
  const load = await Load.open(arena.running.ours.url, connections);
  await using updates = await openUpdates(arena);
  const costs: { log: number; ledger: number; both: number }[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const idle = await spentOn(arena, () => delay(settleMs));
    const beyondIdle = async (key: string): Promise<number> => {
      const { cpu, wall } = await spentOn(arena, () => send(load, key, count));
      return cpu - (idle.cpu * wall) / idle.wall;
    };
    const plain = await beyondIdle(plainKey);
    const limited = await beyondIdle(limitedKey);
    const { cpu: obvious } = await spentOn(arena, () => updates.run(count));
    if (round < 0) continue;
    costs.push({
      log: plain / obvious,
      ledger: (limited - plain) / obvious,
      both: limited / obvious,
    });
  }
  load.close();
  const row = (metric: string, name: 'log' | 'ledger' | 'both', must: number | null): Row => {
    const [lower, ratio, upper] = quartilesOf(costs.map((cost) => cost[name]));
    return { metric, ratio, must, aim: must && (must * 3) / 5, quartiles: [lower, upper] };
  };
  return [
    row('database CPU of the ledger, over one UPDATE per request', 'ledger', 0.25),
    row('database CPU of a log row, over one UPDATE', 'log', null),
    row('database CPU of both, over one UPDATE per request', 'both', null),
  ];
}

async function send(load: Load, key: string, count: number): Promise<void> {
  const bytes = requestBytes({ authorization: `Bearer ${key}` }, chatBody());
  await load.send(count, () => bytes);
  await delay(settleMs);
}

/** Milliseconds of the database's processor time, and of the clock. */
async function spentOn({ database: { pid } }: Arena, work: () => Promise<void>) {
  const began = performance.now();
  const before = cpuMs(pid);
  await work();
  return { cpu: cpuMs(pid) - before, wall: performance.now() - began };
}

interface Updates extends AsyncDisposable {
  /** Updates counters in turn, so that statements do not wait for each other's locks. */
  run(count: number): Promise<void>;
}

async function openUpdates({ database: { server } }: Arena): Promise<Updates> {
  const { host, port, user, password } = server;
  const pool = createPool({
    host,
    port,
    user,
    password,
    database: databaseName,
    connectionLimit: statementConnections,
  });
  await pool.query('create table bench_counters (id int primary key, used bigint not null)');
  const rows = Array.from({ length: counters }, (_, id) => [id, 0]);
  await pool.query('insert into bench_counters (id, used) values ?', [rows]);
  return {
    run: (count) => update(pool, count),
    [Symbol.asyncDispose]: async () => {
      await pool.query('drop table bench_counters');
      await pool.end();
    },
  };
}

async function update(pool: Pool, count: number): Promise<void> {
  let sent = 0;
  const worker = async (): Promise<void> => {
    while (sent < count) {
      sent += 1;
      const values = [250, sent % counters];
      await pool.execute('update bench_counters set used = used + ? where id = ?', values);
    }
  };
  await Promise.all(Array.from({ length: statementConnections }, worker));
}
