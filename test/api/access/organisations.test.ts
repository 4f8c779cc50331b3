/**
 * Verifies the organisation routes: who may read the organisation, and that a rename applies once.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, addTenant, listAudit } from '../../support/server/tenant.ts';

const self = '/v1/organisations/self';
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

it('renames the organisation once, with a new version and one audit row', async () => {
  const before = await server.request('GET', self);
  expect(before.body.data).toMatchObject({ name: 'test', tsg_id: server.tsgId });
  server.clock.advance(1000);
  const rename = () => server.request('PUT', self, { body: { name: ' Acme ' } });
  for (const { status } of [await rename(), await rename()]) expect(status).toBe(200);
  const { headers, body } = await server.request('GET', self);
  expect([headers.etag, body.data.name]).toEqual(['"2"', 'Acme']);
  expect([before.body.data.last_updated_at, body.data.last_updated_at]).toEqual([
    '2027-01-04T08:00:00.000Z',
    '2027-01-04T08:00:01.000Z',
  ]);
  const reported = await listAudit(server, server.organisationId);
  expect(reported.filter(({ action }) => action === 'update')).toMatchObject([
    { resource_kind: 'Organisation', changes: { fields: ['name'] } },
  ]);
});

it('hides the organisation from other tenants and from credentials bound to one workspace', async () => {
  const { tsgId, organisationId } = server;
  const stranger = await addTenant(server);
  const made = await server.request('POST', '/v2/workspaces', { body: { name: 'Team' } });
  const scopes = ['organisation_settings.read', 'organisation_settings.update'];
  const bound = await addKeyCaller(server, scopes, made.body.id);
  const reader = await addKeyCaller(server, scopes.slice(0, 1));
  for (const part of ['info', 'auth-settings']) {
    for (const id of [tsgId, organisationId]) {
      const path = `/v1/organisations/${id}/${part}`;
      const requests = [reader, stranger, bound].map(({ send }) => send('GET', path));
      expect((await Promise.all(requests)).map(({ status }) => status)).toEqual([200, 404, 403]);
    }
  }
  const body = { name: 'Mine' };
  const changed = [reader, bound].map(({ send }) => send('PUT', self, { body }));
  expect((await Promise.all(changed)).map(({ status }) => status)).toEqual([403, 403]);
  expect((await stranger.send('PUT', self, { body })).status).toBe(200);
  expect((await reader.send('GET', self)).body.data.name).toBe('Acme');
});

it('returns 400 with the position of an invalid value', async () => {
  const lifetimes = [0, -1, 36_501, 1.5, '30'].map((days) => ({ api_key_max_ttl_days: days }));
  for (const body of [{ name: ' ' }, { name: 'x'.repeat(256) }, { name: 1 }, ...lifetimes, {}]) {
    expect((await server.request('PUT', '/admin/v2/organisations/self', { body })).status).toBe(
      400,
    );
  }
});
