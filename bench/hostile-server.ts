/** Runs a server in its own process that reports the longest stall of its event loop. */
import { randomBytes } from 'node:crypto';
import { createConnection } from 'mysql2/promise';
import { createApp } from '../src/app.ts';
import { createLog } from '../src/log.ts';
import { readSettings } from '../src/settings.ts';
import { bootstrapTenant } from '../src/store/bootstrap.ts';
import { migrate } from '../src/store/migrations/migrate.ts';
import { startTestDatabaseServer } from '../test/support/database/database-server.ts';

/** Sent once the server listens. `token` opens every route except the token route. */
export interface HostileServerReady {
  readonly url: string;
  readonly inferenceUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly token: string;
}

/** Reply to any message: the longest event loop turn since the previous one, ms of CPU time. */
export type Stall = number;

const databaseName = 'hostile';
const databases = await startTestDatabaseServer();
const { host, port, user, password } = databases.server;
const connection = await createConnection({ host, port, user, password });
await connection.query(`CREATE DATABASE ${databaseName} COLLATE utf8mb4_bin`);
await connection.end();

const settings = readSettings(
  {
    PORT: '0',
    GATEWRIGHT_INFERENCE_PORT: '0',
    TRUSTED_CUSTOM_HOSTS: process.argv[2],
    GATEWRIGHT_INFERENCE_BODIES_MIB_MAX: process.argv[3],
    GATEWRIGHT_METRICS_PORT: '0',
    DB_SSL: 'DISABLED',
    DB_NAME: databaseName,
    DB_HOST: host,
    DB_PORT: String(port),
    DB_USER: user,
    DB_PASS: password,
    GATEWRIGHT_MASTER_KEY: randomBytes(32).toString('base64'),
  },
  { cwd: '/nonexistent' },
);
const log = createLog({ level: 'silent' });
await migrate(settings.database!, { log });
const app = await createApp(settings, { log, components: ['admin', 'gateway'] });
const tenant = await bootstrapTenant(app.database, {
  keyring: app.keyring,
  name: 'hostile',
  apiKeyPrefix: '',
  now: Date.now(),
});
const { adminUrl: url, inferenceUrl } = await app.listen();

let longest = 0;
let last = threadMs();
/** Ends each turn of the event loop. A long turn delayed every other request. */
function turn(): void {
  const now = threadMs();
  longest = Math.max(longest, now - last);
  last = now;
  setImmediate(turn);
}
turn();

/** CPU time of the event loop thread, which excludes other work on the machine. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

process.on('message', () => {
  const stall: Stall = longest;
  longest = 0;
  process.send!(stall);
});
process.once('disconnect', async () => {
  await app[Symbol.asyncDispose]();
  await databases.stop();
  process.exit();
});
async function accessToken(): Promise<string> {
  const basic = Buffer.from(`${tenant.clientId}:${tenant.clientSecret.reveal()}`);
  const response = await fetch(`${url}/oauth2/access_token`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic.toString('base64')}` },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      scope: `tsg_id:${tenant.tsgId}`,
    }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}

const ready: HostileServerReady = {
  url: url!,
  inferenceUrl: inferenceUrl!,
  clientId: tenant.clientId,
  clientSecret: tenant.clientSecret.reveal(),
  token: await accessToken(),
};
process.send!(ready);
