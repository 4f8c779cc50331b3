/**
 * Verifies the audit rows of failed authentication: tenant, source and listener, and never the
 * credential itself.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { verifyChain } from '../../../src/commands/server/audit-chain.ts';
import { sealAuditLog } from '../../../src/jobs/seal-audit-log.ts';
import { createLog } from '../../../src/log.ts';
import { makeApiKey } from '../../../src/model/people/credentials.ts';
import type { Settings } from '../../../src/settings.ts';
import * as serviceAccounts from '../../../src/store/people/service-accounts.ts';
import { exchange } from '../../support/network/exchange.ts';
import { jobContext } from '../../support/server/job-context.ts';
import { addUser } from '../../support/server/people.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addSession, signedInSettings } from '../../support/server/sessions.ts';
import { addKeyCaller, addServiceAccount } from '../../support/server/tenant.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ settings: signedInSettings });
});
afterAll(() => server[Symbol.asyncDispose]());

const logLines: string[] = [];
const log = createLog({
  level: 'debug',
  destination: { write: (line: string) => logLines.push(line) > 0 },
});

interface Ports {
  readonly admin: string;
  readonly inference: string;
  readonly metrics: string;
}

/**
 * Runs `work` against another replica on the same database; the replica writes its counts when it
 * stops.
 */
async function onReplica(work: (ports: Ports) => Promise<void>, more: Partial<Settings> = {}) {
  const { clock } = server;
  const readSharedTime = async () => clock.now();
  const app = await createApp({ ...server.settings, ...more }, { clock, readSharedTime, log });
  const { adminUrl, inferenceUrl, metricsUrl } = await app.listen();
  try {
    await work({ admin: adminUrl!, inference: inferenceUrl!, metrics: metricsUrl });
  } finally {
    await app[Symbol.asyncDispose]();
  }
}

async function accountOf(clientId: string): Promise<string> {
  return (await serviceAccounts.findByClientId(server.database.db, clientId))!.id;
}

interface Row {
  readonly organisation_id: string;
  readonly changes: {
    readonly failures: number;
    readonly sources: readonly Record<string, unknown>[];
  };
}

/** Returns and deletes the rows, summed for each organisation over all minutes. */
async function takeRows(): Promise<Row[]> {
  const { db } = server.database;
  const rows = await db
    .selectFrom('audit_log')
    .selectAll()
    .where('action', '=', 'refuse')
    .orderBy('organisation_id')
    .execute();
  await db.deleteFrom('audit_log').where('action', '=', 'refuse').execute();
  const reported = rows.map((row) => ({
    ...row,
    changes: JSON.parse(row.changes) as Row['changes'],
  }));
  return [...Map.groupBy(reported, (row) => row.organisation_id)].map(
    ([organisation_id, some]) => ({
      organisation_id,
      changes: {
        failures: some.reduce((sum, { changes }) => sum + changes.failures, 0),
        sources: sumsOf(some.flatMap(({ changes }) => changes.sources)),
      },
    }),
  );
}

function sumsOf(sources: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  const alike = Map.groupBy(sources, ({ failures: _, ...rest }) => JSON.stringify(rest));
  return [...alike.values()].map((some) => ({
    ...some[0],
    failures: some.reduce((sum, { failures }) => sum + Number(failures), 0),
  }));
}

const sourcesOf = ({ changes }: Row) =>
  changes.sources.map(({ source, failures, ...rest }) => {
    expect(source).toBe('127.0.0.1');
    return [Object.values(rest).join(' '), failures];
  });

const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
  'content-type': 'application/x-www-form-urlencoded',
});

describe('a rejected credential', () => {
  it('is recorded by listener, kind and reason, for its organisation or for the deployment', async () => {
    const { clientId, clientSecret } = await addServiceAccount(server, 'superuser');
    const old = await addKeyCaller(server, ['completions.write']);
    await server.database.db
      .updateTable('api_keys')
      .set({ expires_at: server.clock.now() - 1 })
      .where('id', '=', old.id)
      .execute();
    const userId = await addUser(server);
    const session = await addSession(server, userId);
    const wrong = { key: makeApiKey(''), secret: `${randomUUID()}`, token: await server.token() };
    const stale = wrong.token;
    server.clock.advance(3_600_000);
    await onReplica(async ({ admin, inference }) => {
      const ask = async (path: string, headers: Record<string, string>, status = 401) => {
        const spoofed = { 'x-forwarded-for': '203.0.113.7', 'x-real-ip': '203.0.113.7' };
        const answer = await exchange('GET', `${admin}${path}`, undefined, {
          ...spoofed,
          ...headers,
        });
        expect(answer.status).toBe(status);
      };
      for (const key of [wrong.key, old.key]) {
        await ask('/v1/configs', { 'x-gateway-api-key': key });
        await ask('/v1/scim/v2/Users', { authorization: `Bearer ${key}` });
        for (const path of ['chat/completions', 'models']) {
          const answer = await exchange(
            'POST',
            `${inference}/v1/${path}`,
            {},
            {
              authorization: `Bearer ${key}`,
            },
          );
          expect(answer.status).toBe(401);
        }
      }
      await ask('/v2/configs', { authorization: `Bearer ${stale}` });
      await ask('/v2/configs', { authorization: 'Bearer nonsense' });
      await ask('/v2/configs', { 'x-gateway-api-key': server.organisationApiKey });
      for (const id of [clientId, 'nobody']) {
        const { status } = await exchange(
          'POST',
          `${admin}/oauth2/access_token`,
          'grant_type=client_credentials',
          basic(id, wrong.secret),
        );
        expect(status).toBe(401);
      }
      const { cookie } = session.headers as { cookie: string };
      await ask('/v1/session', { cookie: `${cookie.slice(0, -1)}!` });
      await ask('/v1/sign-in/callback?state=1', {}, 400);
      const link = new URLSearchParams({ organisationId: 'x', expires: '1', signature: 'y' });
      await ask(`/v1/logs/exports/${randomUUID()}/file?${link}`, {}, 404);
      // A request without a credential is not an attempt.
      await ask('/v1/configs', {});
      await ask('/v1/session', { cookie: 'theme=dark' });
      await exchange('POST', `${inference}/v1/chat/completions`, {}, {});
    });
    const [ofNobody, ofOrganisation, ...others] = await takeRows();
    expect(others).toEqual([]);
    expect([ofNobody!.organisation_id, ofOrganisation!.organisation_id]).toEqual([
      '',
      server.organisationId,
    ]);
    expect(sourcesOf(ofNobody!)).toEqual([
      ['admin api_key unknown', 2],
      ['inference api_key unknown', 2],
      ['admin access_token unknown', 1],
      ['admin other not_accepted', 1],
      ['admin client_secret unknown', 1],
      ['admin sign_in unknown', 1],
      ['admin link unknown', 1],
    ]);
    expect(sourcesOf(ofOrganisation!)).toEqual([
      [`admin api_key expired ${old.id}`, 2],
      [`inference api_key expired ${old.id}`, 2],
      [`admin session unknown ${userId}`, 1],
      [`admin access_token expired ${await accountOf(server.clientId)}`, 1],
      [`admin client_secret unknown ${await accountOf(clientId)}`, 1],
    ]);
    expect(ofOrganisation!.changes.failures).toBe(7);
    const out = JSON.stringify([ofNobody, ofOrganisation, logLines]);
    for (const canary of [wrong.key, old.key, wrong.secret, clientSecret, stale, '203.0.113.7']) {
      expect(out).not.toContain(canary);
    }
  });

  it('is recorded in separate rows by each replica, which are sealed, verified and returned with their status', async () => {
    const tries = (times: number) => (ports: Ports) => {
      const headers = basic(server.clientId, 'wrong');
      const url = `${ports.admin}/oauth2/access_token`;
      const body = 'grant_type=client_credentials';
      return Promise.all(
        Array.from({ length: times }, async () => exchange('POST', url, body, headers)),
      ).then(() => undefined);
    };
    await Promise.all([onReplica(tries(3)), onReplica(tries(4))]);
    const { body } = await server.request('GET', '/v1/audit-logs?action=refuse');
    // Each replica writes its own row, and one more for each further minute of its life.
    expect(body.records.length).toBeGreaterThanOrEqual(2);
    for (const record of body.records) {
      expect(record).toMatchObject({
        resource_type: 'Credential',
        user_type: 'system',
        user_id: 'authentication',
        response_status_code: 401,
        method: '',
      });
    }
    const failures = body.data.map(
      (one: { metadata: { failures: number } }) => one.metadata.failures,
    );
    expect(failures.reduce((sum: number, one: number) => sum + one, 0)).toBe(7);
    await onReplica(async ({ admin }) => {
      await exchange('GET', `${admin}/v1/configs`, undefined, { 'x-gateway-api-key': 'wrong' });
    });
    const auditKeyOf = (id: string) => server.app.keyring.auditKey(id);
    const context = jobContext(server.database, server.clock.now());
    await sealAuditLog({ auditKeyOf }).run(context);
    for (const id of ['', server.organisationId]) {
      const query = { head: null, signal: new AbortController().signal };
      const report = await verifyChain(server.database.db, auditKeyOf(id), id, query);
      expect(report).toMatchObject({ faults: [], unsealed: 0 });
      expect(report.sealed).toBeGreaterThan(0);
    }
  });

  it('counts in the metrics, and writes no row when the audit log is off', async () => {
    await takeRows();
    const features = { ...server.settings.features, auditLogs: false };
    await onReplica(
      async ({ inference, metrics }) => {
        const headers = { 'x-gateway-api-key': makeApiKey('') };
        for (let time = 0; time < 2; time += 1) {
          await exchange('POST', `${inference}/v1/chat/completions`, {}, headers);
        }
        const { body } = await exchange('GET', `${metrics}/metrics`, undefined, {});
        expect(body).toContain(
          'gatewright_refused_credentials_total{server="inference",credential="api_key",reason="unknown"} 2',
        );
      },
      { features },
    );
    expect(await takeRows()).toEqual([]);
  });
});
