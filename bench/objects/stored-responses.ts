/** Measures the extra database round trips of a stored response over a chat completion. */
import { randomBytes } from 'node:crypto';
import { Connection } from 'mysql2';
import { createApp } from '../../src/app.ts';
import { createLog } from '../../src/log.ts';
import { type DatabaseSettings, readSettings } from '../../src/settings.ts';
import { bootstrapTenant } from '../../src/store/bootstrap.ts';
import { readTrustedHosts } from '../../src/trusted-hosts.ts';
import { chatAnswer, sendJson, startUpstream } from '../../test/support/upstream/upstream.ts';
import type { Row } from '../harness.ts';

const requests = 200;

/** Counts the extra database round trips of a stored response over a chat. */
export async function storedResponseRows(database: DatabaseSettings): Promise<Row[]> {
  await using upstream = await startUpstream();
  upstream.script = (_, response) => sendJson(response, chatAnswer);
  const trusted = readTrustedHosts(upstream.host);
  const settings = readSettings(
    {
      PORT: '0',
      GATEWRIGHT_METRICS_PORT: '0',
      GATEWRIGHT_MASTER_KEY: randomBytes(32).toString('hex'),
    },
    { cwd: '/nonexistent' },
  );
  const log = createLog({ level: 'silent' });
  const app = await createApp(
    { ...settings, database, trustedHosts: 'hosts' in trusted ? trusted.hosts : [] },
    { log, components: ['admin', 'gateway'] },
  );
  try {
    const tenant = await bootstrapTenant(app.database, {
      keyring: app.keyring,
      name: 'bench',
      apiKeyPrefix: '',
      now: Date.now(),
    });
    const { adminUrl, inferenceUrl } = await app.listen();
    const key = await keyOf(adminUrl!, tenant.organisationApiKey.reveal());
    const config = JSON.stringify({ provider: 'mock-upstream', custom_host: upstream.url });
    const ask = async (path: string, body: object): Promise<void> => {
      const response = await fetch(`${inferenceUrl}/v1${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'x-gateway-config': config,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ model: 'm', ...body }),
      });
      if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
      await response.arrayBuffer();
    };
    const chat = () => ask('/chat/completions', { messages: [{ role: 'user', content: 'hello' }] });
    const response = () => ask('/responses', { input: 'hello' });
    await chat();
    await response();
    const chats = await tripsOf(chat);
    const responses = await tripsOf(response);
    const metric = 'database round trips of a stored response, above a chat';
    return [{ metric, ratio: (responses - chats) / requests, aim: 1.5 }];
  } finally {
    await app[Symbol.asyncDispose]();
  }
}

async function keyOf(url: string, organisationApiKey: string): Promise<string> {
  const response = await fetch(`${url}/v1/api-keys/organisation/service`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': organisationApiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench', scopes: ['completions.write'] }),
  });
  return ((await response.json()) as { key: string }).key;
}

/** Includes the queries that poll for changes, which are a few per second. */
async function tripsOf(ask: () => Promise<void>): Promise<number> {
  const { query, execute } = Connection.prototype;
  let trips = 0;
  for (const [name, send] of Object.entries({ query, execute })) {
    Object.assign(Connection.prototype, {
      [name](this: unknown, ...given: unknown[]) {
        trips += 1;
        return Reflect.apply(send, this, given);
      },
    });
  }
  try {
    for (let n = 0; n < requests; n += 1) await ask();
  } finally {
    Object.assign(Connection.prototype, { query, execute });
  }
  return trips;
}
