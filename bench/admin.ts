/** Knows what the Admin API costs beside the bare web framework that sends the same statements. */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { Agent, request as send } from 'undici';
import { startTestDatabaseServer, type TestDatabaseServer } from '../test/database-server.ts';
import { type Member, quartilesOf, type Row } from './harness.ts';
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
} from './product.ts';

const bareServer = resolve(import.meta.dirname, 'bare-server.ts');
/** Short ones, so that both servers of a round meet the same other work of the machine. */
const rounds = 31;
const requestsPerRound = 500;
const warmUpRounds = 8;
const connections = 8;
const manyRequests = 100_000;

interface Credentials {
  readonly key: string;
  /** The hash of the key as stored, so that the bare server finds it without our pepper. */
  readonly hash: string;
  readonly token: string;
}

interface Operation {
  readonly title: string;
  readonly aim: number;
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
        const ratios = await compare(operation, product, bare, credentials, agent, scale);
        const [lower, ratio, upper] = quartilesOf(ratios);
        const { title: metric, aim } = operation;
        rows.push({ metric, ratio, aim, quartiles: [lower, upper] });
      }
      const load = { ...operations(configId)[0]!, title: 'memory' };
      await drive(load, product, credentials, agent, manyRequests * scale);
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
  return [
    { title: 'GET by key, CPU', aim: 1.25, method: 'GET', path: item, by: 'key' },
    { title: 'GET by token, CPU', aim: 1.25, method: 'GET', path: item, by: 'token' },
    {
      ...{ title: 'audited PUT, CPU', aim: 1.35, method: 'PUT', path: item, by: 'key' },
      body: (at) => ({ name: `name ${at}` }),
    },
    {
      ...{ title: 'POST of a key, CPU', aim: 1.2, method: 'POST', by: 'key' },
      path: '/v1/api-keys/organisation/service',
      body: (at) => ({ name: `key ${at}`, scopes: ['logs.view', 'configs.read'] }),
    },
  ];
}

/** The ratio of CPU times of each round, the two servers in turn, after a warm-up each. */
async function compare(
  operation: Operation,
  product: Server,
  bare: Server,
  credentials: Credentials,
  agent: Agent,
  scale: number,
): Promise<number[]> {
  const ratios: number[] = [];
  const cpuOf = async (server: Server): Promise<number> => {
    const before = cpuMs(server.process.pid!);
    await drive(operation, server, credentials, agent, requestsPerRound);
    return cpuMs(server.process.pid!) - before;
  };
  for (let round = -warmUpRounds; round < rounds * scale; round += 1) {
    const top = await cpuOf(product);
    const bottom = await cpuOf(bare);
    if (round >= 0) ratios.push(top / bottom);
  }
  return ratios;
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
    // Only the bare server reads it.
    hash,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const sent = body === undefined ? null : JSON.stringify(body(left));
      const answer = await send(url + path, { method, headers, body: sent, dispatcher: agent });
      const text = await answer.body.text();
      if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${text}`);
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
  { url }: Server,
  { tsgId, clientId, clientSecret, organisationApiKey }: Tenant,
  server: TestDatabaseServer,
): Promise<Credentials> {
  const answer = await send(`${url}/oauth2/access_token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: `grant_type=client_credentials&scope=tsg_id%3A${tsgId}`,
  });
  const { access_token: token } = (await answer.body.json()) as { access_token: string };
  const connection = await createConnection({ ...server, database: databaseName });
  const [rows] = await connection.query('SELECT HEX(hash) AS hash FROM api_key_hashes');
  await connection.end();
  return { key: organisationApiKey, token, hash: (rows as { hash: string }[])[0]!.hash };
}

async function makeConfig({ url }: Server, { key }: Credentials, agent: Agent): Promise<string> {
  const answer = await send(`${url}/v1/configs`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench', config: { retry: { attempts: 3 } } }),
    dispatcher: agent,
  });
  return ((await answer.body.json()) as { id: string }).id;
}
