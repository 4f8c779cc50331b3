/** Runs `npm run soak`: real processes under steady load, whose memory, descriptors and tables must not grow. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createConnection } from 'mysql2/promise';
import { databaseName, environment, setUp, type Tenant } from '../../bench/product.ts';
import { writeCredentials } from '../../bench/sync-setup.ts';
import { startMockServer } from '../../src/commands/mock-upstream/mock-server.ts';
import {
  startTestDatabaseServer,
  type TestDatabaseServer,
} from '../support/database/database-server.ts';
import { exchange } from '../support/network/exchange.ts';
import { fetchToken } from '../support/server/server.ts';
import { type LoadCounts, type LoadTargets, sendLoad, writeSourceFile } from './load.ts';
import type { Sample } from './slopes.ts';
import { SoakedProcess } from './soaked-process.ts';
import { type JudgedSeries, judgeSeries, type Series, soakTable } from './verdict.ts';

const { values } = parseArgs({
  options: { hours: { type: 'string' }, minutes: { type: 'string' } },
});
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const hoursUsual = 8;
const tokenMs = 5 * minuteMs;
/** Samples of a run, whatever its length. */
const samplesWanted = 240;
const sampleMsMin = 2_000;
const results = resolve(import.meta.dirname, '../../.cache/soak');

function durationMs(): number {
  const text = values.minutes ?? values.hours ?? String(hoursUsual);
  const number = Number(text);
  if (!(number > 0)) {
    throw new Error('npm run soak -- [--hours 8 | --minutes N]; N is a number above 0');
  }
  return number * (values.minutes === undefined ? hourMs : minuteMs);
}

class SeriesBook {
  readonly #series = new Map<string, { kind: Series['kind']; samples: Sample[] }>();

  add(name: string, kind: Series['kind'], sample: Sample): void {
    const known = this.#series.get(name) ?? { kind, samples: [] };
    this.#series.set(name, known);
    known.samples.push(sample);
  }

  all(): Series[] {
    return [...this.#series].map(([name, series]) => ({ name, ...series }));
  }
}

async function countRows(server: TestDatabaseServer): Promise<Map<string, number>> {
  const connection = await createConnection({ ...server, database: databaseName });
  try {
    const [tables] = await connection.query('SHOW TABLES');
    const counts = new Map<string, number>();
    for (const name of (tables as object[]).map((row) => String(Object.values(row)[0]))) {
      const [rows] = await connection.query(`SELECT COUNT(*) AS count FROM \`${name}\``);
      counts.set(name, Number((rows as { count: unknown }[])[0]!.count));
    }
    return counts;
  } finally {
    await connection.end();
  }
}

async function sampleAll(
  book: SeriesBook,
  processes: readonly SoakedProcess[],
  server: TestDatabaseServer,
  hours: number,
): Promise<void> {
  for (const one of processes) {
    const { heapMb, rssMb, descriptors, sockets } = await one.sample();
    book.add(`${one.name} heap, MB`, 'heap', { hours, value: heapMb });
    book.add(`${one.name} resident, MB`, 'rss', { hours, value: rssMb });
    book.add(`${one.name} descriptors`, 'descriptors', { hours, value: descriptors });
    book.add(`${one.name} sockets`, 'descriptors', { hours, value: sockets });
  }
  for (const [table, value] of await countRows(server)) {
    book.add(table, 'rows', { hours, value });
  }
}

/** Creates keys, an MCP server and a source for the load. */
async function prepareTargets(
  urls: Pick<LoadTargets, 'adminUrl' | 'inferenceUrl' | 'mcpUrl' | 'source'>,
  mock: { readonly url: string; readonly mcpUrl: string },
  tenant: Tenant,
): Promise<LoadTargets> {
  let token = { at: Number.NEGATIVE_INFINITY, value: Promise.resolve('') };
  const currentToken = () => {
    const now = performance.now();
    if (now - token.at > tokenMs) token = { at: now, value: fetchToken(urls.adminUrl, tenant) };
    return token.value;
  };
  const make = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${await currentToken()}` };
    const made = await exchange('POST', urls.adminUrl + path, body, headers);
    if (made.status !== 200) throw new Error(`${path}: ${JSON.stringify(made.body)}`);
    return made.body;
  };
  const workspace = await make('/v2/workspaces', { name: 'soak' });
  const addKey = async (scopes: readonly string[]) => {
    const body = { name: 'soak', scopes, workspace_id: workspace.id };
    return (await make('/v1/api-keys/workspace/service', body)).key;
  };
  const integration = await make('/v2/mcp-integrations', {
    name: 'mock',
    url: mock.mcpUrl,
    auth_type: 'none',
    transport: 'http',
  });
  const server = await make('/v2/mcp-servers', {
    name: 'mock',
    mcp_integration_id: integration.id,
    workspace_id: workspace.id,
  });
  return {
    ...urls,
    providerUrl: mock.url,
    key: await addKey(['completions.write']),
    mcpKey: await addKey(['mcp.invoke']),
    slug: server.slug,
    token: currentToken,
  };
}

const ports = (...names: string[]) => names.flatMap((name) => [name, '0']);

async function soak(runMs: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-soak-'));
  const { server, stop } = await startTestDatabaseServer();
  await using mock = await startMockServer('127.0.0.1', 0);
  try {
    const hosts = [mock.url, mock.mcpUrl].map((url) => new URL(url).host).join(',');
    const env = {
      ...environment(server),
      TRUSTED_CUSTOM_HOSTS: hosts,
      GATEWRIGHT_LOG_LEVEL: 'info',
    };
    const tenant = await setUp(server, env);
    const all = ports('--port', '--metrics-port', '--inference-port', '--mcp-port');
    const options = { env, cwd: folder };
    const control = ['serve', '--components', 'admin,jobs', ...all];
    await using controlPlane = new SoakedProcess('control plane', control, options);
    const { adminUrl } = JSON.parse(await controlPlane.line('"adminUrl"'));
    const serve = ['serve', '--components', 'gateway,mcp', ...all];
    await using gateway = new SoakedProcess('gateway', serve, options);
    const { inferenceUrl, mcpUrl } = JSON.parse(await gateway.line('"inferenceUrl"'));
    const source = join(folder, 'source');
    mkdirSync(source);
    writeSourceFile(source, 0);
    writeCredentials(join(folder, 'credentials.json'), adminUrl, tenant);
    const words = ['sync', 'source', '--credentials', 'credentials.json', ...ports('--port')];
    await using daemon = new SoakedProcess('daemon', words, options);
    const targets = await prepareTargets({ adminUrl, inferenceUrl, mcpUrl, source }, mock, tenant);
    return await observe({ processes: [controlPlane, gateway, daemon], server, targets, runMs });
  } finally {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function observe({
  processes,
  server,
  targets,
  runMs,
}: {
  readonly processes: readonly SoakedProcess[];
  readonly server: TestDatabaseServer;
  readonly targets: LoadTargets;
  readonly runMs: number;
}): Promise<number> {
  const book = new SeriesBook();
  const counts: LoadCounts = { sent: 0, failed: 0, failures: [] };
  const began = performance.now();
  let isOver = false;
  const load = sendLoad(targets, counts, () => isOver);
  const sampleMs = Math.max(sampleMsMin, runMs / samplesWanted);
  try {
    while (performance.now() - began < runMs) {
      await delay(sampleMs);
      await sampleAll(book, processes, server, (performance.now() - began) / hourMs);
    }
  } finally {
    isOver = true;
    await load;
  }
  const judged = book.all().map(judgeSeries);
  const growing = judged.filter(({ verdict }) => verdict === 'grows');
  // Most tables have no rows that the load touches.
  const isChanging = ({ first, last, slope }: JudgedSeries) =>
    first !== last || slope?.perHour !== 0;
  console.log(soakTable(judged.filter(isChanging)));
  for (const one of processes.filter(({ name }) =>
    growing.some((row) => row.name.startsWith(`${name} heap`)),
  )) {
    mkdirSync(results, { recursive: true });
    const file = join(results, `${one.name.replace(' ', '-')}.heapsnapshot`);
    await one.sample(file);
    console.log(`heap snapshot of the ${one.name}: ${file}`);
  }
  const figures = {
    minutes: runMs / minuteMs,
    ...counts,
    growing: growing.map(({ name }) => name),
  };
  console.log(JSON.stringify({ ...figures, series: judged }));
  return growing.length === 0 && counts.failed === 0 ? 0 : 1;
}

process.exitCode = await soak(durationMs());
