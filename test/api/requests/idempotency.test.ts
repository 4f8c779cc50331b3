/**
 * Verifies changes whose response was lost: the unknown outcome is reported, and a retry applies
 * the change once.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DatabaseLink, startDatabaseLink } from '../../support/database/database-link.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import {
  addKeyCaller,
  bindToWorkspace,
  listAudit,
  type Send,
} from '../../support/server/tenant.ts';

let link: DatabaseLink;
let server: TestServer;

beforeAll(async () => {
  link = await startDatabaseLink();
  server = await startTestServer({ between: link.lead });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await link[Symbol.asyncDispose]();
});

const names = async (): Promise<string[]> => {
  const { body } = await server.request('GET', '/v2/workspaces');
  return body.data.map((workspace: { name: string }) => workspace.name);
};
const countOf = async (name: string): Promise<number> =>
  (await names()).filter((one) => one === name).length;
const create = (name: string, key: string) =>
  server.request('POST', '/v2/workspaces', { body: { name }, headers: { 'idempotency-key': key } });
const createKey = (key: string) =>
  server.request('POST', '/v1/api-keys/organisation/service', {
    body: { name: 'bot', scopes: ['workspaces.list'] },
    headers: { 'idempotency-key': key },
  });

describe('a commit whose acknowledgement is lost', () => {
  it('returns 503 with an unknown outcome and without retry-after', async () => {
    link.loseNextCommit();
    const lost = await server.request('POST', '/v2/workspaces', { body: { name: 'Lost' } });
    expect([lost.status, lost.body.error.code, lost.headers['retry-after']]).toEqual([
      503,
      'AB04',
      undefined,
    ]);
    expect(lost.body.error.message).toMatch(/outcome is unknown/);
    expect(await countOf('Lost')).toBe(1);
  });

  it('differs from a connection lost before the commit, which returns retry-after', async () => {
    link.cut();
    const refused = await server.request('POST', '/v2/workspaces', { body: { name: 'Refused' } });
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    link.mend();
    expect(await names()).not.toContain('Refused');
  });

  it('returns the original response when the request is retried under its key', async () => {
    const key = randomUUID();
    link.loseNextCommit();
    expect((await createKey(key)).status).toBe(503);
    const again = await createKey(key);
    expect([again.status, again.headers['idempotency-replayed']]).toEqual([200, 'true']);
    const requested = await server.request('GET', '/v1/admin/workspaces', {
      auth: 'none',
      headers: { 'x-gateway-api-key': again.body.key },
    });
    expect(requested.status).toBe(200);
    const rows = await listAudit(server, again.body.id);
    // The replay is recorded in a row of its own, without the content.
    expect(rows.map(({ action }) => action)).toEqual(['create', 'read']);
    expect(JSON.stringify(rows)).not.toContain(again.body.key);
  });
});

describe('a request with an Idempotency-Key', () => {
  it('returns the original response byte for byte when it is repeated, and creates nothing', async () => {
    const key = randomUUID();
    const first = await create('Once', key);
    const second = await create('Once', key);
    expect([first.status, first.headers['idempotency-replayed']]).toEqual([200, undefined]);
    expect([second.status, second.headers['idempotency-replayed']]).toEqual([200, 'true']);
    expect(second.body).toEqual(first.body);
    expect(second.headers.etag).toBe(first.headers.etag);
    expect(await countOf('Once')).toBe(1);
  });

  it('is executed once when it is sent fifty times concurrently', async () => {
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 50 }, () => create('Crowd', key)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    const fresh = answers.filter(({ headers }) => headers['idempotency-replayed'] === undefined);
    expect(fresh).toHaveLength(1);
    expect(await countOf('Crowd')).toBe(1);
  });

  it('returns 409 with another body or on another route', async () => {
    const key = randomUUID();
    expect((await create('Mine', key)).status).toBe(200);
    const other = await create('Other', key);
    expect([other.status, other.body.error.param]).toEqual([409, 'Idempotency-Key']);
    expect((await createKey(key)).status).toBe(409);
    expect(await names()).not.toContain('Other');
  });

  it('is executed under the same key after its first attempt was rejected', async () => {
    const key = randomUUID();
    expect((await create('', key)).status).toBe(400);
    const send = (slug: string, under: string) =>
      server.request('POST', '/v2/mcp-integrations', {
        body: {
          name: 'Tools',
          slug,
          url: 'https://mcp.example.com',
          auth_type: 'none',
          transport: 'http',
        },
        headers: { 'idempotency-key': under },
      });
    expect((await send('taken', randomUUID())).status).toBe(200);
    expect((await send('taken', key)).status).toBe(409);
    expect((await send('free', key)).status).toBe(200);
  });

  it('is independent of the same key of another caller', async () => {
    const key = randomUUID();
    const mine = await createKey(key);
    const stranger = await addKeyCaller(server, [
      'organisation_service_api_keys.create',
      'workspaces.list',
    ]);
    const theirs = await stranger.send('POST', '/v1/api-keys/organisation/service', {
      body: { name: 'bot', scopes: ['workspaces.list'] },
      headers: { 'idempotency-key': key },
    });
    expect([theirs.status, theirs.body.id === mine.body.id]).toEqual([200, false]);
  });

  it('is not replayed to a token of the same account for another workspace or with fewer scopes', async () => {
    const [one, two] = await Promise.all(
      ['One', 'Two'].map(async (name) => (await create(name, randomUUID())).body.id),
    );
    const [inOne, inTwo] = [await bindToWorkspace(server, one), await bindToWorkspace(server, two)];
    const key = randomUUID();
    const ask = (send: Send) =>
      send('POST', '/v2/api-keys/service', {
        body: { name: 'bot', scopes: ['workspaces.list'] },
        headers: { 'idempotency-key': key },
      });
    const made = await ask(inOne);
    expect((await ask(inOne)).body).toEqual(made.body);
    for (const send of [inTwo, server.request]) {
      expect(await ask(send)).toMatchObject({
        status: 409,
        body: { error: { param: 'Idempotency-Key' } },
      });
    }
    const scopes = ['workspace_service_api_keys.create', 'workspaces.list'];
    const caller = await addKeyCaller(server, scopes, one);
    const askByKey = () =>
      caller.send('POST', '/v1/api-keys/workspace/service', {
        body: { name: 'bot', scopes: ['workspaces.list'] },
        headers: { 'idempotency-key': key },
      });
    expect((await askByKey()).status).toBe(200);
    await server.request('PUT', `/v1/api-keys/${caller.id}`, {
      body: { scopes: ['workspace_service_api_keys.create'] },
    });
    expect((await askByKey()).status).toBe(409);
  });

  it('leaves no readable key value in the database', async () => {
    const { body } = await createKey(randomUUID());
    const rows = await server.database.db.selectFrom('idempotency_keys').select('answer').execute();
    expect(rows.length).toBeGreaterThan(0);
    for (const { answer } of rows) {
      expect(answer).toMatch(/^v1\./);
      expect(answer).not.toContain(body.key);
    }
  });

  it('is new again after 24 hours, before and after the cleanup job runs', async () => {
    const [stored, forgotten] = [randomUUID(), randomUUID()];
    await create('Daily', stored);
    await create('Daily', forgotten);
    server.clock.advance(24 * 60 * 60 * 1000 - 1);
    expect((await create('Daily', stored)).headers['idempotency-replayed']).toBe('true');
    server.clock.advance(1);
    expect((await create('Daily', stored)).headers['idempotency-replayed']).toBeUndefined();
    expect((await create('Daily', stored)).headers['idempotency-replayed']).toBe('true');
    const left = async () =>
      (
        await server.database.db.selectFrom('idempotency_keys').select('idempotency_key').execute()
      ).map((row) => row.idempotency_key);
    expect(await left()).toContain(forgotten);
    expect(await server.app.jobs.runNow('delete-old-answers')).toMatchObject({ state: 'done' });
    expect(await left()).toEqual([stored]);
  });

  it.each(['', 'with space', 'ü', 'k'.repeat(256)])(
    'returns 400 with its name for %j',
    async (key) => {
      const answer = await create('Never', key);
      expect(answer.status).toBe(400);
      expect(answer.body.error.message).toContain('Idempotency-Key');
    },
  );

  it('accepts 255 characters', async () => {
    expect((await create('Long', `${randomUUID()}${'~'.repeat(219)}`)).status).toBe(200);
  });
});
