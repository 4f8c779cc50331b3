/** Measures the cost of the Admin API against a bare Fastify server that sends the same statements. */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { Agent, request as send } from 'undici';
import {
  startTestDatabaseServer,
  type TestDatabaseServer,
} from '../test/support/database/database-server.ts';
import { type Measure, type Member, quartilesOf, type Row } from './harness.ts';
import {
  cpuMs,
  databaseName,
  environment,
  firstLine,
  residentMiB,
  type Server,
  setUp,
  startProduct,
  type Tenant,
  tokenOf,
} from './product.ts';

const bareServer = resolve(import.meta.dirname, 'bare-server.ts');
/** Short rounds expose both servers to the same load by other processes. */
const rounds = 31;
const requestsPerRound = 500;
const warmUpRounds = 8;
const connections = 8;
const memoryRequests = 100_000;

interface Credentials {
  readonly key: string;
  /** Stored hash of the key. The bare server looks the key up by it because it lacks our pepper. */
  readonly hash: string;
  readonly token: string;
}

interface Operation {
  readonly title: string;
  /** Largest acceptable ratio of CPU time, product over bare server. */
  readonly cpuRatioMax: number;
  /** Smallest acceptable ratio of requests per second, product over bare server. */
  readonly rateRatioMin: number;
  readonly method: 'GET' | 'PUT' | 'POST';
  readonly path: string;
  readonly by: 'key' | 'token';
  readonly body?: (at: number) => object;
}

export const member: Member = {
  name: 'the Admin API against the bare web framework with the same statements',
  run: async (scale): Promise<Row[]> => {
    const database = await startTestDatabaseServer();
    const agent = new Agent({ connections });
    const servers: Server[] = [];
    try {
      const env = environment(database.server);
      const tenant = await setUp(database.server, env);
      const product = await startProduct(env);
      const bare = await startBare(database.server);
      servers.push(product, bare);
      const credentials = await credentialsOf(product, tenant, database.server);
      const configId = await makeConfig(product, credentials, agent);
      const rows: Row[] = [];
      for (const operation of operations(configId)) {
        rows.push(...(await compare(operation, product, bare, credentials, agent, scale)));
      }
      const load = operations(configId)[0]!;
      await drive(load, product, credentials, agent, memoryRequests * scale);
      const memory = residentMiB(product.process.pid!);
      return [...rows, { metric: 'MiB resident after 100,000 requests', ratio: memory, aim: 180 }];
    } finally {
      for (const server of servers) server.process.kill('SIGKILL');
      await agent.close();
      await database.stop();
    }
  },
};

function operations(configId: string): Operation[] {
  const item = `/v1/configs/${configId}`;
  const read = { rateRatioMin: 0.85, method: 'GET' } as const;
  return [
    { title: 'GET by key', cpuRatioMax: 1.25, ...read, path: item, by: 'key' },
    { title: 'GET by token', cpuRatioMax: 1.25, ...read, path: item, by: 'token' },
    {
      title: 'audited PUT',
      cpuRatioMax: 1.35,
      rateRatioMin: 0.7,
      method: 'PUT',
      path: item,
      by: 'key',
      body: (at) => ({ name: `name ${at}` }),
    },
    {
      title: 'audited POST of a key',
      cpuRatioMax: 1.2,
      rateRatioMin: 0.7,
      method: 'POST',
      path: '/v1/api-keys/organisation/service',
      by: 'key',
      body: (at) => ({ name: `key ${at}`, scopes: ['logs.view', 'configs.read'] }),
    },
  ];
}

/** Compares requests per second and CPU time of alternating rounds after a warm-up of both servers. */
async function compare(
  operation: Operation,
  product: Server,
  bare: Server,
  credentials: Credentials,
  agent: Agent,
  scale: number,
): Promise<Row[]> {
  const rates: number[] = [];
  const costs: number[] = [];
  const measure = async (server: Server): Promise<Measure> => {
    const [began, before] = [performance.now(), cpuMs(server.process.pid!)];
    await drive(operation, server, credentials, agent, requestsPerRound);
    const wallMs = performance.now() - began;
    return { wallMs, cpuMs: cpuMs(server.process.pid!) - before };
  };
  for (let round = -warmUpRounds; round < rounds * scale; round += 1) {
    // The servers also alternate in going first, so that effects of the previous round affect both.
    const isFirst = round % 2 === 0;
    const early = await measure(isFirst ? product : bare);
    const late = await measure(isFirst ? bare : product);
    const [top, bottom] = isFirst ? [early, late] : [late, early];
    if (round < 0) continue;
    rates.push(bottom.wallMs / top.wallMs);
    costs.push(top.cpuMs / bottom.cpuMs);
  }
  const { title, rateRatioMin: least, cpuRatioMax: aim } = operation;
  const [slow, rate, fast] = quartilesOf(rates);
  const [cheap, cost, dear] = quartilesOf(costs);
  return [
    {
      metric: `${title}, requests per second`,
      ratio: rate,
      aim: null,
      least,
      quartiles: [slow, fast],
    },
    { metric: `${title}, CPU`, ratio: cost, aim, quartiles: [cheap, dear] },
  ];
}

async function drive(
  { method, path, by, body }: Operation,
  { url }: Server,
  { key, hash, token }: Credentials,
  agent: Agent,
  count: number,
): Promise<void> {
  let left = count;
  const headers = {
    ...(by === 'key' ? { 'x-gateway-api-key': key } : { authorization: `Bearer ${token}` }),
    // Only the bare server reads this header.
    hash,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const sent = body === undefined ? null : JSON.stringify(body(left));
      const response = await send(url + path, { method, headers, body: sent, dispatcher: agent });
      const text = await response.body.text();
      if (response.statusCode >= 300) throw new Error(`${method} ${path}: ${text}`);
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
}

async function startBare({ port, user, password }: TestDatabaseServer): Promise<Server> {
  const words = [bareServer, String(port), user, password, databaseName];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  return { url: await firstLine(child, child.stdout!, (line) => line), process: child };
}

async function credentialsOf(
  product: Server,
  tenant: Tenant,
  server: TestDatabaseServer,
): Promise<Credentials> {
  const token = await tokenOf(product, tenant);
  const connection = await createConnection({ ...server, database: databaseName });
  const [rows] = await connection.query('SELECT HEX(hash) AS hash FROM api_key_hashes');
  await connection.end();
  return { key: tenant.organisationApiKey, token, hash: (rows as { hash: string }[])[0]!.hash };
}

async function makeConfig({ url }: Server, { key }: Credentials, agent: Agent): Promise<string> {
  const response = await send(`${url}/v1/configs`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench', config: { retry: { attempts: 3 } } }),
    dispatcher: agent,
  });
  return ((await response.body.json()) as { id: string }).id;
}
