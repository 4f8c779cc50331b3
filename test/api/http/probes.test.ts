/**
 * Verifies the probes: liveness differs from readiness, and an unready server gives its reasons.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startDatabaseLink } from '../../support/database/database-link.ts';
import { exchange } from '../../support/network/exchange.ts';
import { startTestServer, testSettings } from '../../support/server/server.ts';

describe('probes', () => {
  it('returns 200 without authentication on a healthy server', async () => {
    await using server = await startTestServer();
    for (const path of ['/startupz', '/readyz', '/livez']) {
      const answer = await exchange('GET', server.url + path, undefined, {});
      expect([path, answer.status, answer.body]).toEqual([
        path,
        200,
        { status: 'ok', reasons: [] },
      ]);
    }
  });

  it('is served on the metrics port too, where clients cannot exhaust the connections of the API', async () => {
    const { server: usual } = testSettings();
    const settings = { server: { ...usual, connectionsMax: 1 } };
    await using server = await startTestServer({ settings });
    const holder = connect(Number(new URL(server.url).port), '127.0.0.1');
    await once(holder, 'connect');
    expect((await exchange('GET', `${server.url}/livez`, undefined, {})).status).toBe(503);
    for (const path of ['/startupz', '/readyz', '/livez']) {
      const answer = await exchange('GET', server.metricsUrl + path, undefined, {});
      expect([path, answer.status]).toEqual([path, 200]);
    }
    holder.destroy();
  });

  it('reports not ready but alive while the process drains', async () => {
    await using server = await startTestServer();
    server.app.drain();
    const ready = await exchange('GET', `${server.url}/readyz`, undefined, {});
    expect([ready.status, ready.body.reasons]).toEqual([503, ['the process is stopping']]);
    expect((await exchange('GET', `${server.url}/livez`, undefined, {})).status).toBe(200);
    expect((await server.request('GET', '/iam/v1/access_policies')).status).toBe(200);
  });

  it('reports not ready while the schema is behind, and ready afterwards', async () => {
    await using server = await startTestServer();
    const { db } = server.database;
    const { rows } = await sql<{
      name: string;
    }>`SELECT MAX(name) AS name FROM schema_migrations`.execute(db);
    const latest = rows[0]!.name;
    await sql`CREATE TABLE kept AS SELECT * FROM schema_migrations`.execute(db);
    await sql`DELETE FROM schema_migrations WHERE name = ${latest}`.execute(db);
    const probe = (path: string) => exchange('GET', server.url + path, undefined, {});
    expect((await probe('/readyz')).body.reasons).toEqual(['the database schema is behind']);
    expect((await probe('/startupz')).status).toBe(503);
    expect((await probe('/livez')).status).toBe(200);
    await sql`INSERT INTO schema_migrations SELECT * FROM kept WHERE name = ${latest}`.execute(db);
    await expect.poll(async () => (await probe('/readyz')).status).toBe(200);
    expect((await probe('/startupz')).status).toBe(200);
  });

  it('reports a wrong clock, while tokens expire by the time of the database', async () => {
    const skewMs = 40 * 86_400_000;
    const real = Date.UTC(2027, 0, 4, 8) - skewMs;
    await using server = await startTestServer({ readSharedTime: async () => real });
    const ready = await exchange('GET', `${server.url}/readyz`, undefined, {});
    expect(ready).toMatchObject({
      status: 200,
      body: {
        status: 'degraded',
        reasons: [expect.stringMatching(/^the clock of this process is 3456000 s ahead of/)],
      },
    });
    const metrics = await exchange('GET', `${server.metricsUrl}/metrics`, undefined, {});
    expect(metrics.body).toMatch(/^gatewright_clock_deviation_seconds 3456000$/m);
    expect(await server.app.jobs.runNow('expire-keys')).toMatchObject({ state: 'failed' });
    const body = {
      name: 'k',
      scopes: ['logs.view'],
      expires_at: new Date(real + 1000).toISOString(),
    };
    const made = await server.request('POST', '/v1/api-keys/organisation/service', { body });
    expect(made.status).toBe(200);
    const read = await server.request('GET', `/v1/api-keys/${made.body.id}`);
    expect(read.body).toMatchObject({ status: 'active', created_at: new Date(real).toISOString() });
  });

  it('gives the reason while the database is unavailable, and calls return 503 and never 401', async () => {
    await using link = await startDatabaseLink();
    await using server = await startTestServer({ between: link.lead });
    const calls = async () => [
      await server.request('GET', '/v1/admin/workspaces', { auth: 'key' }),
      await exchange('GET', `${server.url}/v1/admin/workspaces`, undefined, headers),
    ];
    const probe = (path: string) => exchange('GET', server.url + path, undefined, {});
    const headers = { authorization: `Bearer ${await server.token()}` };
    expect((await probe('/startupz')).status).toBe(200);
    link.cut();
    for (const answer of await calls()) {
      expect([answer.status, answer.body.error.code]).toEqual([503, 'AB04']);
      expect(answer.headers['retry-after']).toBe('1');
    }
    const reasons = async () => (await probe('/readyz')).body.reasons;
    await expect.poll(reasons).toEqual(['the database does not answer']);
    expect((await probe('/livez')).status).toBe(200);
    expect((await probe('/startupz')).status).toBe(200);
    link.mend();
    await expect.poll(async () => (await probe('/readyz')).status).toBe(200);
    expect((await calls()).map((answer) => answer.status)).toEqual([200, 200]);
  });
});
