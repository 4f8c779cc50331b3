/** Measures the start of `serve` until it listens, and a page of its longest list. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Connection, createConnection } from 'mysql2/promise';
import { request as send } from 'undici';
import { newId } from '../src/model/wire/ids.ts';
import { startTestDatabaseServer } from '../test/support/database/database-server.ts';
import { interleave, type Measure, type Member, type Row } from './harness.ts';
import { cpuMs, databaseName, environment, setUp, startProduct } from './product.ts';

const rounds = 9;
const emptyRunsPerRound = 5;
const keys = 100_000;
const keysPerInsert = 1_000;
const pages = 50;
const startMax = 6;
const pageMax = 2;

export const member: Member = {
  name: 'serve: start to listening, and a page of 100,000 keys',
  run: async (): Promise<Row[]> => {
    const database = await startTestDatabaseServer();
    try {
      const env = environment(database.server);
      const { organisationApiKey } = await setUp(database.server, env);
      const rows = await startRows(env);
      const connection = await createConnection({ ...database.server, database: databaseName });
      const ratio = await pageRatio(env, organisationApiKey, connection);
      await connection.end();
      const metric = `page of ${keys} keys over the bare statements, wall clock`;
      return [...rows, { metric, ratio, aim: pageMax }];
    } finally {
      await database.stop();
    }
  },
};

/** Starts on a migrated database, alternating with an empty process. */
async function startRows(env: Record<string, string>): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-bench-'));
  const empty = join(folder, 'empty.mjs');
  writeFileSync(empty, '');
  const target = { name: 'empty', command: process.execPath, args: [empty] };
  const ratios: Measure[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const top = await start(env);
    const bottom = interleave([target], 1, emptyRunsPerRound).measures.get('empty')!;
    const ratio = { cpuMs: top.cpuMs / bottom.cpuMs, wallMs: top.wallMs / bottom.wallMs };
    if (round >= 0) ratios.push(ratio);
  }
  rmSync(folder, { recursive: true });
  const cpu = median(ratios.map(({ cpuMs }) => cpuMs));
  const wall = median(ratios.map(({ wallMs }) => wallMs));
  return [
    { metric: 'start to listening over an empty process, CPU', ratio: cpu, aim: startMax },
    { metric: 'start to listening, wall clock', ratio: wall, aim: null },
  ];
}

/** The first round, which does not count, fills the cache of compiled code for the others. */
async function start(env: Record<string, string>): Promise<Measure> {
  const began = performance.now();
  const { process: child } = await startProduct({ ...env, GATEWRIGHT_LAME_DUCK_SECONDS: '0' });
  const measure = { wallMs: performance.now() - began, cpuMs: cpuMs(child.pid!) };
  const { promise, resolve } = Promise.withResolvers<void>();
  child.removeAllListeners('exit').once('exit', () => resolve());
  child.kill('SIGTERM');
  await promise;
  return measure;
}

/** Median of pages by HTTP over the median of their statements, one at a time, alternating. */
async function pageRatio(
  env: Record<string, string>,
  key: string,
  connection: Connection,
): Promise<number> {
  const organisation = await fill(connection);
  const { url, process: child } = await startProduct(env);
  const times = { top: [] as number[], bottom: [] as number[] };
  for (let at = 0; at < pages; at += 1) {
    times.top.push(await timed(() => getPage(url, key)));
    times.bottom.push(await timed(() => readPage(connection, organisation)));
  }
  child.kill('SIGKILL');
  return median(times.top) / median(times.bottom);
}

/** Inserts the keys. Returns the organisation that owns them. */
async function fill(connection: Connection): Promise<string> {
  const [found] = await connection.query('select organisation_id from api_keys');
  const organisation = (found as { organisation_id: string }[])[0]!.organisation_id;
  const now = Date.now();
  const row = (at: number) => [
    organisation,
    newId(),
    'organisation-service',
    `key ${at}`,
    'ab*****xyz',
    'active',
    'api',
    '["logs.view","configs.read"]',
    organisation,
    now,
    now,
  ];
  for (let made = 0; made < keys; made += keysPerInsert) {
    const rows = Array.from({ length: keysPerInsert }, (_, at) => row(made + at));
    await connection.query(
      `insert into api_keys (organisation_id, id, type, name, key_mask, status, creation_mode, scopes,
       created_by, created_at, last_updated_at) values ?`,
      [rows],
    );
  }
  return organisation;
}

async function getPage(url: string, key: string): Promise<void> {
  const headers = { 'x-gateway-api-key': key };
  const response = await send(`${url}/v1/api-keys?page_size=100`, { headers });
  const { total } = (await response.body.json()) as { total: number };
  if (total < keys) throw new Error(`the list says ${total}`);
}

async function readPage(connection: Connection, organisation: string): Promise<void> {
  const types = [
    'organisation-service',
    'organisation-user',
    'workspace-service',
    'workspace-user',
  ];
  const where = 'from api_keys where organisation_id = ? and type in (?)';
  const values = [organisation, types];
  await connection.query(`select * ${where} order by id desc limit 100 offset 0`, values);
  await connection.query(`select count(*) as total ${where}`, values);
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!;
}
