/**
 * Verifies MYSQL_WRITER_HADR_MODE: reads continue and writes fail at once while the writer is down.
 */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startDatabaseLink } from '../../support/database/database-link.ts';
import { findFreePort } from '../../support/database/database-server.ts';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

const probe = async (server: TestServer, path = '/readyz') => {
  const { status, body } = await exchange('GET', server.url + path, undefined, {});
  return { status, state: body.status, reasons: body.reasons };
};

/** Resolves when the server has noticed the state of its writer. */
const noticed = (server: TestServer, content: 'ok' | 'degraded' | 'unavailable') =>
  expect.poll(async () => (await probe(server)).state).toBe(content);

const scrape = async (server: TestServer): Promise<string> =>
  (await exchange('GET', `${server.metricsUrl}/metrics`, undefined, {})).body;

const lists = [
  '/v1/admin/workspaces',
  '/v1/api-keys',
  '/v1/configs',
  '/v1/guardrails',
  '/v1/policies/usage-limits',
  '/v1/mcp-integrations',
  '/v1/mcp-servers',
];

/**
 * Returns the new id once the writer is known to be up; it counts as down whenever it does not
 * respond in time.
 */
const create = (server: TestServer): Promise<string> =>
  eventually(async () => {
    const answer = await server.request('POST', '/v1/admin/workspaces', { body: { name: 'Team' } });
    expect(answer.status).toBe(200);
    return answer.body.id;
  });

describe('a writer that is down', () => {
  it.each(['cut', 'freeze'] as const)(
    'sends reads to the reader and returns 503 to writes after %s, and both recover',
    async (failure) => {
      await using link = await startDatabaseLink();
      await using server = await startTestServer({
        between: link.leadHasty,
        reader: (real) => real,
      });
      const before = await create(server);
      await server.token();
      link[failure]();
      await noticed(server, 'degraded');

      const down = await probe(server);
      expect([down.status, down.reasons]).toEqual([
        200,
        ['the database does not answer; reads are served by its reader, writes are refused'],
      ]);
      const metrics = await scrape(server);
      expect(metrics).toContain('gatewright_database_degraded 1');
      expect(metrics).toContain('gatewright_database_reachable 0');
      expect(await probe(server, '/livez')).toMatchObject({ status: 200, state: 'ok' });
      for (const auth of ['token', 'key'] as const) {
        for (const path of lists) {
          const answer = await server.request('GET', path, { auth });
          expect([auth, path, answer.status]).toEqual([auth, path, 200]);
        }
      }
      const found = await server.request('GET', `/v1/admin/workspaces/${before}`);
      expect([found.status, found.body.id]).toEqual([200, before]);
      const snapshot = await server.request('GET', '/admin/v2/gatewright/snapshot?owner=git');
      expect(snapshot.status).toBe(200);
      expect(await server.token()).toMatch(/^ey/);
      expect((await exchange('GET', `${server.url}/v1/configs`, undefined, strangers)).status).toBe(
        401,
      );
      const refused = await server.request('POST', '/v1/admin/workspaces', {
        body: { name: 'during' },
      });
      expect([refused.status, refused.body.error.code]).toEqual([503, 'AB04']);
      expect(refused.headers['retry-after']).toBe('1');

      link.mend();
      await noticed(server, 'ok');
      const path = `/v1/admin/workspaces/${await create(server)}`;
      await eventually(async () => expect((await server.request('GET', path)).status).toBe(200));
      await eventually(async () =>
        expect(await scrape(server)).toContain('gatewright_database_degraded 0'),
      );
      const spoken = server.logLines.filter((line) => line.includes('database writer'));
      const levels = spoken.map((line) => JSON.parse(line).level).join(' ');
      // Once each time, however often a busy machine has delayed the response.
      expect(levels).toMatch(/^warn info(?: warn info)*$/);
    },
  );

  it('makes the server unready and returns 503 to reads when the reader is down too', async () => {
    const port = await findFreePort();
    await using link = await startDatabaseLink();
    await using server = await startTestServer({
      between: link.lead,
      reader: (real) => ({ ...real, port }),
    });
    await server.token();
    link.cut();
    await noticed(server, 'unavailable');
    expect(await probe(server)).toMatchObject({
      status: 503,
      reasons: ['the database does not answer'],
    });
    expect((await server.request('GET', '/v1/configs', { auth: 'key' })).status).toBe(503);
  });

  it('returns 503 to reads without a reader', async () => {
    await using link = await startDatabaseLink();
    await using server = await startTestServer({ between: link.lead });
    await server.token();
    link.cut();
    await noticed(server, 'unavailable');
    expect((await server.request('GET', '/v1/configs', { auth: 'key' })).status).toBe(503);
  });
});

const strangers = { authorization: 'Bearer e30.e30.e30' };

describe('a writer that works', () => {
  it('receives all reads, however busy it is', async () => {
    const port = await findFreePort();
    await using server = await startTestServer({
      between: async (real) => ({ ...real, poolWaitSeconds: 5 }),
      reader: (real) => ({ ...real, port }),
    });
    const release = Promise.withResolvers<void>();
    const busy = Array.from({ length: server.settings.database!.poolSize }, () =>
      server.database.transaction(async (tx) => {
        await sql`SELECT 1`.execute(tx);
        await release.promise;
      }),
    );
    const waiting = server.request('GET', '/v1/configs', { auth: 'key' });
    expect((await probe(server)).state).toBe('unavailable');
    release.resolve();
    await Promise.all(busy);
    // The address of the reader is closed, so a read from it would return 503.
    expect((await waiting).status).toBe(200);
    await noticed(server, 'ok');
  });
});
