/** Verifies a gateway without the Admin API while its database is unavailable. */
import { describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { createLog } from '../../../src/log.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { type DatabaseLink, startDatabaseLink } from '../../support/database/database-link.ts';
import { exchange, type TestResponse } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { logIsWritten } from '../../support/server/request-log.ts';
import { startTestServer } from '../../support/server/server.ts';
import { chatAnswer, sendJson, startUpstream } from '../../support/upstream/upstream.ts';

const chat = { model: 'gpt-test', messages: [{ role: 'user', content: 'hello' }] };

interface GatewayAlone extends AsyncDisposable {
  readonly link: DatabaseLink;
  readonly metricsUrl: string;
  /** Numbers of lost request log entries, as written to the process log. */
  readonly reportedLosses: () => readonly number[];
  /** Creates a key that this gateway has not seen. */
  newKey(more?: object): Promise<string>;
  ask(key: string): Promise<number>;
  ready(): Promise<TestResponse>;
}

/** Starts a gateway beside a server that creates the keys, with its own link to the database. */
async function startGatewayAlone(graceSeconds: number): Promise<GatewayAlone> {
  await using parts = new AsyncDisposableStack();
  const upstream = parts.use(await startUpstream());
  upstream.script = (_, response) => sendJson(response, chatAnswer);
  const trusted = readTrustedHosts(upstream.host);
  const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
  const server = parts.use(await startTestServer({ settings: { trustedHosts } }));
  const link = parts.use(await startDatabaseLink());
  const { settings, clock } = server;
  const database = await link.leadHasty(settings.database!);
  const lines: string[] = [];
  const write = (line: string): boolean => lines.push(line) > 0;
  const log = createLog({ level: 'error', destination: { write } });
  const gateway = parts.use(
    await createApp(
      {
        ...settings,
        database,
        inference: { ...settings.inference, graceSeconds },
      },
      { clock, readSharedTime: async () => clock.now(), components: ['gateway'], log },
    ),
  );
  const { inferenceUrl, metricsUrl } = await gateway.listen();
  const config = { provider: 'openai', api_key: 'sk', custom_host: upstream.url };
  const started = parts.move();
  return {
    link,
    metricsUrl,
    reportedLosses: () =>
      lines
        .filter((line) => line.includes('missing in the log'))
        .map((line) => JSON.parse(line).requests),
    newKey: async (more = {}) => {
      const body = { name: 'caller', scopes: ['completions.write'], ...more };
      const path = '/v1/api-keys/organisation/service';
      return (await server.request('POST', path, { body })).body.key;
    },
    ask: async (key) => {
      const given = JSON.stringify(config);
      const headers = { authorization: `Bearer ${key}`, 'x-gateway-config': given };
      const url = `${inferenceUrl}/v1/chat/completions`;
      return (await exchange('POST', url, chat, headers)).status;
    },
    ready: () => exchange('GET', `${metricsUrl}/readyz`, undefined, {}),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

const degraded = expect.stringMatching(
  /^the database does not answer; the gateway continues with its configuration of \d+ s ago$/,
);

describe('a gateway without the Admin API', () => {
  it('serves recently used keys while the database is unavailable, reports degraded but ready, and never returns 401', async () => {
    await using gateway = await startGatewayAlone(300);
    const [used, unused] = [await gateway.newKey(), await gateway.newKey()];
    expect([await gateway.ask(used), (await gateway.ready()).body.status]).toEqual([200, 'ok']);
    gateway.link.cut();
    await eventually(async () => {
      const body = { status: 'degraded', reasons: [degraded] };
      expect(await gateway.ready()).toMatchObject({ status: 200, body });
    });
    expect([await gateway.ask(used), await gateway.ask(unused)]).toEqual([200, 503]);
    gateway.link.mend();
    await eventually(async () => {
      expect((await gateway.ready()).body.status).toBe('ok');
    });
    expect([await gateway.ask(used), await gateway.ask(unused)]).toEqual([200, 200]);
    await logIsWritten(gateway);
    await gateway[Symbol.asyncDispose]();
    expect(gateway.reportedLosses()).toEqual([]);
  });

  it('holds a key with a rate limit to its share, and counts what it used afterwards', async () => {
    await using gateway = await startGatewayAlone(300);
    const key = await gateway.newKey({
      rate_limits: [{ type: 'requests', unit: 'rpw', value: 3 }],
    });
    expect(await gateway.ask(key)).toBe(200);
    gateway.link.cut();
    expect(await Promise.all([gateway.ask(key), gateway.ask(key)])).toEqual([200, 200]);
    gateway.link.mend();
    await eventually(async () => expect(await gateway.ask(key)).toBe(429));
  });

  it('behaves in the same way when the database hangs', async () => {
    await using gateway = await startGatewayAlone(300);
    const used = await gateway.newKey();
    expect(await gateway.ask(used)).toBe(200);
    gateway.link.freeze();
    await eventually(async () => {
      const body = { status: 'degraded', reasons: [degraded] };
      expect(await gateway.ready()).toMatchObject({ status: 200, body });
    });
    expect(await gateway.ask(used)).toBe(200);
    gateway.link.mend();
  });

  it('returns 503 and is not ready after the grace period, and before any key was used', async () => {
    await using over = await startGatewayAlone(0);
    const used = await over.newKey();
    expect(await over.ask(used)).toBe(200);
    await using fresh = await startGatewayAlone(300);
    for (const gateway of [over, fresh]) {
      gateway.link.cut();
      await eventually(async () => {
        const body = { status: 'unavailable', reasons: ['the database does not answer'] };
        expect(await gateway.ready()).toMatchObject({ status: 503, body });
      });
      expect(await gateway.ask(used)).toBe(503);
      gateway.link.mend();
    }
    // Log entries may wait until the database is available again.
    await logIsWritten(over);
    await over[Symbol.asyncDispose]();
    expect(over.reportedLosses()).toEqual([]);
  });
});
