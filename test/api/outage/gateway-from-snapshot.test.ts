/** Verifies that a gateway serves from a snapshot while its database does not respond. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type App, openApp } from '../../../src/app.ts';
import { createLog } from '../../../src/log.ts';
import { makeApiKey } from '../../../src/model/people/credentials.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { type DatabaseLink, startDatabaseLink } from '../../support/database/database-link.ts';
import {
  type ManualSnapshot,
  manualSnapshot,
  readDatabaseView,
} from '../../support/database/database-view.ts';
import { exchange, type TestResponse } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import {
  chatAnswer,
  sendJson,
  startUpstream,
  type TestUpstream,
} from '../../support/upstream/upstream.ts';

const minuteMs = 60_000;

interface Caller {
  readonly id: string;
  readonly key: string;
}

interface OutageGateway extends AsyncDisposable {
  readonly app: App;
  readonly link: DatabaseLink;
  readonly snapshot: ManualSnapshot;
  readonly adminUrl: string | null;
  ask(key: string, headers?: Readonly<Record<string, string>>): Promise<TestResponse>;
  ready(): Promise<TestResponse>;
}

let upstream: TestUpstream;
let server: TestServer;
let config: string;

beforeAll(async () => {
  upstream = await startUpstream();
  upstream.script = (_, response) => sendJson(response, chatAnswer);
  const trusted = readTrustedHosts(upstream.host);
  const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
  server = await startTestServer({ settings: { trustedHosts } });
  config = await createConfig('served');
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

async function createConfig(name: string): Promise<string> {
  const document = { provider: 'openai', api_key: 'sk-outage', custom_host: upstream.url };
  const body = { name, config: document };
  const { body: made } = await server.request('POST', '/v1/configs', { body });
  return made.data.slug;
}

async function createKey(more: object = {}): Promise<Caller> {
  const body = { name: 'caller', scopes: ['completions.write'], ...more };
  const made = await server.request('POST', '/v1/api-keys/organisation/service', { body });
  return made.body;
}

/** Starts a gateway that does not know the database yet, with a link to it. */
async function openGateway(
  graceSeconds = 300,
  components: readonly ('admin' | 'gateway')[] = ['gateway'],
): Promise<OutageGateway> {
  await using parts = new AsyncDisposableStack();
  const link = parts.use(await startDatabaseLink());
  const snapshot = manualSnapshot();
  const { settings, clock } = server;
  const database = await link.leadHasty(settings.database!);
  const app = parts.use(
    openApp(
      { ...settings, database, inference: { ...settings.inference, graceSeconds } },
      {
        clock,
        readSharedTime: async () => clock.now(),
        components,
        log: createLog({ level: 'silent' }),
        snapshot,
      },
    ),
  );
  const { adminUrl, inferenceUrl, metricsUrl } = await app.listen();
  const started = parts.move();
  return {
    app,
    link,
    snapshot,
    adminUrl,
    ask: (key, headers = { 'x-gateway-config': config }) => {
      const chat = { model: 'gpt-test', messages: [{ role: 'user', content: 'hello' }] };
      const url = `${inferenceUrl}/v1/chat/completions`;
      return exchange('POST', url, chat, { authorization: `Bearer ${key}`, ...headers });
    },
    ready: () => exchange('GET', `${metricsUrl}/readyz`, undefined, {}),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** Gives the gateway a snapshot of the database as it is now, as if it had been current at the last contact. */
async function takeSnapshot({ snapshot }: OutageGateway): Promise<void> {
  const now = server.clock.now();
  snapshot.view = await readDatabaseView(server.database, now);
  snapshot.confirmedAtMs = now;
}

describe('a gateway with a snapshot', () => {
  it('starts while the database is away, and serves keys, configs and sealed secrets of the snapshot', async () => {
    const caller = await createKey();
    await using gateway = await openGateway();
    gateway.link.cut();
    await takeSnapshot(gateway);
    expect((await gateway.ask(caller.key)).status).toBe(503);
    expect(await gateway.app.openFromSnapshot()).toBe(true);
    server.clock.advance(90_000);
    const reached = upstream.next();
    const served = await gateway.ask(caller.key);
    expect([served.status, served.headers['x-gateway-config-age']]).toEqual([200, '90']);
    expect((await reached).headers.authorization).toBe('Bearer sk-outage');
    const { status, body } = await gateway.ready();
    expect([status, body.status]).toEqual([200, 'degraded']);
    expect(body.reasons[0]).toContain('its configuration of 90 s ago');
  });

  it('returns to the database without a restart, and then knows what changed meanwhile', async () => {
    const [usable, revoked] = [await createKey(), await createKey()];
    await using gateway = await openGateway();
    gateway.link.cut();
    await takeSnapshot(gateway);
    await gateway.app.openFromSnapshot();
    for (const { key } of [usable, revoked]) expect((await gateway.ask(key)).status).toBe(200);
    const created = await createKey();
    await server.request('DELETE', `/v1/api-keys/${revoked.id}`);
    gateway.link.mend();
    await eventually(async () => gateway.app.connect());
    await eventually(async () => expect((await gateway.ask(revoked.key)).status).toBe(401));
    const { status, headers } = await gateway.ask(created.key);
    expect([status, headers['x-gateway-config-age']]).toEqual([200, undefined]);
    expect((await gateway.ask(usable.key)).status).toBe(200);
  });

  it('continues with keys that it has not seen, beyond the grace period', async () => {
    const [used, unused] = [await createKey(), await createKey()];
    await using gateway = await openGateway(0);
    await gateway.app.connect();
    await takeSnapshot(gateway);
    expect((await gateway.ask(used.key)).status).toBe(200);
    gateway.link.cut();
    await eventually(async () => expect((await gateway.ready()).body.status).toBe('degraded'));
    for (const { key } of [used, unused]) expect((await gateway.ask(key)).status).toBe(200);
  });

  it('refuses an expired key and a config that the snapshot knows as missing', async () => {
    const expiring = await createKey({
      expires_at: new Date(server.clock.now() + minuteMs).toISOString(),
    });
    const caller = await createKey();
    await using gateway = await openGateway();
    gateway.link.cut();
    await takeSnapshot(gateway);
    await gateway.app.openFromSnapshot();
    expect((await gateway.ask(expiring.key)).status).toBe(200);
    server.clock.advance(2 * minuteMs);
    expect((await gateway.ask(expiring.key)).status).toBe(401);
    expect((await gateway.ask(caller.key, { 'x-gateway-config': 'no-such' })).status).toBe(400);
    gateway.snapshot.isCurrent = false;
    const unsure = await gateway.ask(caller.key, { 'x-gateway-config': 'no-such' });
    expect([unsure.status, unsure.headers['retry-after']]).toEqual([503, '1']);
  });
});

describe('a key that the snapshot does not contain', () => {
  const old = () => makeApiKey('', server.clock.now() - 60 * minuteMs);

  it('is refused with 401 only when the snapshot was current at the last contact and the value is older', async () => {
    await using gateway = await openGateway();
    gateway.link.cut();
    await takeSnapshot(gateway);
    await gateway.app.openFromSnapshot();
    expect((await gateway.ask(old())).status).toBe(401);
    // Made after the last contact: another gateway may have created it.
    const { status, headers } = await gateway.ask(makeApiKey('', server.clock.now()));
    expect([status, headers['retry-after']]).toEqual([503, '1']);
    gateway.snapshot.isCurrent = false;
    expect((await gateway.ask(old())).status).toBe(503);
    gateway.snapshot.isCurrent = true;
    gateway.snapshot.view = { ...gateway.snapshot.view!, isWhole: false };
    expect((await gateway.ask(old())).status).toBe(503);
  });

  it('stays refused when the database refused it before the outage, although an older snapshot contains it', async () => {
    const revoked = await createKey();
    await using gateway = await openGateway();
    await takeSnapshot(gateway);
    await gateway.app.connect();
    server.clock.advance(1_000);
    await server.request('DELETE', `/v1/api-keys/${revoked.id}`);
    expect((await gateway.ask(revoked.key)).status).toBe(401);
    gateway.link.cut();
    await eventually(async () => expect((await gateway.ready()).body.status).toBe('degraded'));
    expect([401, 503]).toContain((await gateway.ask(revoked.key)).status);
  });
});

describe('a process with the Admin API and a gateway', () => {
  it('serves callers from the snapshot, and returns 503 for the Admin API', async () => {
    const caller = await createKey();
    await using gateway = await openGateway(300, ['admin', 'gateway']);
    gateway.link.cut();
    await takeSnapshot(gateway);
    await gateway.app.openFromSnapshot();
    expect((await gateway.ask(caller.key)).status).toBe(200);
    expect((await gateway.ready()).body.status).toBe('degraded');
    const headers = { authorization: `Bearer ${caller.key}` };
    const listed = await exchange('GET', `${gateway.adminUrl}/v2/configs`, undefined, headers);
    expect([listed.status, listed.headers['retry-after']]).toEqual([503, '1']);
  });
});
