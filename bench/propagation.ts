/** Measures how long revocations and other changes take until gateways with a database apply them, at 100,000 keys. */
import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import { startTestDatabaseServer } from '../test/support/database/database-server.ts';
import { fillTenant } from './gateway/bench-tenant.ts';
import { startStub, stop } from './gateway/contestants.ts';
import type { Member, Row } from './harness.ts';
import { environment, setUp, startProduct } from './product.ts';
import {
  accepts,
  type ReadingGateway,
  readPropagation,
  startReadingGateways,
} from './propagation/reading-gateways.ts';

const full = { keys: 100_000, processes: 4, gatewaysOfProcess: 13, revocations: 100 };
/** Interval of asking each gateway whether it still accepts a revoked key. */
const askMs = 25;

export const member: Member = {
  name: 'propagation of changes to 52 gateways at 100,000 keys',
  run: async (scale): Promise<Row[]> => {
    const share = (count: number, least: number): number =>
      Math.max(least, Math.round(count * scale));
    await using stack = new AsyncDisposableStack();
    const server = await startTestDatabaseServer();
    stack.defer(() => server.stop());
    const stub = await startStub();
    stack.defer(() => stop(stub));
    const env = { ...environment(server.server), TRUSTED_CUSTOM_HOSTS: new URL(stub.url).host };
    const tenant = await setUp(server.server, env);
    const many = { keys: share(full.keys, 100), configs: 10 };
    const { plainKey } = await fillTenant(env, tenant, stub.url, many);
    const control = await startProduct(env);
    stack.defer(() => void control.process.removeAllListeners('exit').kill('SIGKILL'));
    const processes = share(full.processes, 2);
    const reading = await startReadingGateways(env, processes, share(full.gatewaysOfProcess, 3));
    stack.use(reading);
    const { gateways } = reading;
    process.stdout.write(`  ${gateways.length} gateways, ${many.keys} keys\n`);
    await Promise.all(gateways.map((gateway) => accepts(gateway, plainKey)));
    const admin = { url: control.url, key: tenant.organisationApiKey };
    const revocations = share(full.revocations, 10);
    const times: number[] = [];
    for (let at = 0; at < revocations; at += 1) times.push(...(await revoke(admin, gateways)));
    return [...revocationRows(times), ...(await metricRows(gateways))];
  },
};

interface Admin {
  readonly url: string;
  readonly key: string;
}

async function send({ url, key }: Admin, method: 'POST' | 'DELETE', path: string, body?: object) {
  const response = await request(url + path, {
    method,
    headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
    body: body ? JSON.stringify(body) : null,
  });
  const text = await response.body.text();
  if (response.statusCode !== 200) throw new Error(`${method} ${path}: ${text}`);
  return JSON.parse(text) as { readonly id: string; readonly key: string };
}

/** Milliseconds from the answer to the revocation until each gateway refuses the key. */
async function revoke(admin: Admin, gateways: readonly ReadingGateway[]): Promise<number[]> {
  const body = { name: 'revoked', scopes: ['completions.write'] };
  const made = await send(admin, 'POST', '/v1/api-keys/organisation/service', body);
  await Promise.all(
    gateways.map(async (gateway) => {
      if (!(await accepts(gateway, made.key))) throw new Error('a new key is refused');
    }),
  );
  // Revocations fall on any moment between two polls.
  await delay(Math.random() * 1_000);
  await send(admin, 'DELETE', `/v1/api-keys/${made.id}`);
  const revokedMs = performance.now();
  return Promise.all(
    gateways.map(async (gateway) => {
      while (await accepts(gateway, made.key)) await delay(askMs);
      return performance.now() - revokedMs;
    }),
  );
}

function revocationRows(times: readonly number[]): Row[] {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (part: number): number => sorted[Math.ceil((sorted.length - 1) * part)]! / 1_000;
  return [
    { metric: 'revoked to refused, p50, s', ratio: at(0.5), aim: null },
    { metric: 'revoked to refused, p99, s', ratio: at(0.99), aim: 1 },
    { metric: 'revoked to refused, slowest, s', ratio: at(1), aim: null },
  ];
}

/** Upper bounds, because the metric counts in ranges. */
async function metricRows(gateways: readonly ReadingGateway[]): Promise<Row[]> {
  const counts = new Map<number, number>();
  for (const gateway of gateways) {
    for (const [bound, count] of await readPropagation(gateway)) {
      counts.set(bound, (counts.get(bound) ?? 0) + count);
    }
  }
  const total = counts.values().reduce((sum, count) => sum + count, 0);
  const bound = (part: number): number => {
    let seen = 0;
    for (const [most, count] of counts) {
      seen += count;
      if (seen >= part * total) return most;
    }
    return Number.POSITIVE_INFINITY;
  };
  return [
    { metric: 'changes that the metric has observed', ratio: total, aim: null },
    { metric: 'commit to in force by the metric, p50 up to, s', ratio: bound(0.5), aim: null },
    { metric: 'commit to in force by the metric, p99 up to, s', ratio: bound(0.99), aim: 1 },
    { metric: 'commit to in force by the metric, slowest up to, s', ratio: bound(1), aim: null },
  ];
}
