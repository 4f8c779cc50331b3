/** Knows what counting costs the database, beside one statement for each request that adds to a counter. */
import { createPool } from 'mysql2/promise';
import type { Row } from '../harness.ts';
import { cpuMs, databaseName } from '../product.ts';
import { type Arena, chatBody } from './arena.ts';
import { Load } from './load-client.ts';

const requests = 40_000;
const connections = 64;
const counters = 1_000;
const statementConnections = 12;

/** Under load, with budgets on key and workspace and a rate limit: three counters a request against one. */
export async function accountingRows(arena: Arena, scale: number): Promise<Row[]> {
  const count = Math.ceil(requests * scale);
  const { pid } = arena.database;
  const bytes = arena.request('ours', chatBody());
  const load = await Load.open(arena.running.ours.url, connections);
  const before = cpuMs(pid);
  await load.send(count, () => bytes);
  const ours = cpuMs(pid) - before;
  load.close();
  const obvious = await updates(arena, count);
  const metric = 'database CPU of accounting, over an UPDATE a request';
  return [{ metric, ratio: ours / obvious, must: 0.25, aim: 0.15 }];
}

/** Milliseconds of the database; each counter is added to in turn, so that none waits for another. */
async function updates({ database: { server, pid } }: Arena, count: number): Promise<number> {
  const { host, port, user, password } = server;
  const pool = createPool({
    ...{ host, port, user, password, database: databaseName },
    connectionLimit: statementConnections,
  });
  await pool.query('create table bench_counters (id int primary key, used bigint not null)');
  const rows = Array.from({ length: counters }, (_, id) => [id, 0]);
  await pool.query('insert into bench_counters (id, used) values ?', [rows]);
  let sent = 0;
  const before = cpuMs(pid);
  const worker = async (): Promise<void> => {
    while (sent < count) {
      sent += 1;
      const values = [250, sent % counters];
      await pool.execute('update bench_counters set used = used + ? where id = ?', values);
    }
  };
  await Promise.all(Array.from({ length: statementConnections }, worker));
  const spent = cpuMs(pid) - before;
  await pool.query('drop table bench_counters');
  await pool.end();
  return spent;
}
