/** Verifies service accounts, child tenants and the lifetime of keys in manifests, with delivered secrets. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { Secret } from '../../../../src/secret.ts';
import { exchange } from '../../../support/network/exchange.ts';
import type { TestServer } from '../../../support/server/server.ts';
import { addServiceAccount } from '../../../support/server/tenant.ts';
import { endLeases } from '../../../support/sync/lease.ts';
import {
  everyKind,
  openSync,
  type SyncSetup,
  startSyncServer,
} from '../../../support/sync/sync-setup.ts';

const halfHourMs = 1_800_000;
const dayMs = 86_400_000;

let server: TestServer;
let sync: SyncSetup;

beforeAll(async () => {
  server = await startSyncServer();
  sync = openSync(server);
});
afterAll(async () => {
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});
beforeEach(async () => {
  // Guesses of values are limited per minute.
  server.clock.advance(60_000);
  await endLeases(server);
  expect((await cycle('')).ending).toBe('success');
});

const cycle: SyncSetup['cycle'] = (manifests, options = {}) =>
  sync.cycle(manifests, { clock: server.clock, ...options });

async function apply(text: string): Promise<void> {
  const { ending, report } = await cycle(text);
  expect([ending, report?.items.filter(({ status }) => status !== 'done')]).toEqual([
    'success',
    [],
  ]);
}

async function planned(text: string) {
  const { plan } = await cycle(text, { act: false });
  return plan.changes.map(({ action, id }) => [action, id]);
}

function account(terms: string, name = 'ci'): string {
  return `apiVersion: gatewright.dev/v1
kind: ServiceAccount
metadata: {name: ${name}}
spec: {${terms}, secretOutput: {file: {path: ${name}.secret}}}
`;
}

const file = () => join(sync.secretsFolder, 'ci.secret');
const delivered = () => readFileSync(file(), 'utf8').trim();

async function record() {
  const { body } = await server.request('GET', '/v2/service-accounts?search=ci');
  return body.data.find(({ name }: { name: string }) => name === 'ci');
}

async function opens(secret: string): Promise<boolean> {
  const clientId = `ci@${server.tsgId}.serviceaccount.gatewright.internal`;
  const { status } = await exchange(
    'POST',
    `${server.url}/oauth2/access_token`,
    `grant_type=client_credentials&scope=tsg_id%3A${server.tsgId}`,
    {
      authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
  );
  return status === 200;
}

it('delivers the secret of a new account, then plans no change, and deletes both', async () => {
  const text = account('roles: [resource_admin, view_only_admin], description: CI');
  await apply(text);
  expect(await opens(delivered())).toBe(true);
  expect(await planned(text)).toEqual([]);
  expect(await record()).toMatchObject({ roles: ['resource_admin', 'view_only_admin'] });
  await apply(account('roles: [view_only_admin], status: disabled'));
  expect(await record()).toMatchObject({ roles: ['view_only_admin'], status: 'disabled' });
  expect(await opens(delivered())).toBe(false);
  const secret = delivered();
  await apply('');
  expect(existsSync(file())).toBe(false);
  expect(await record()).toBeUndefined();
  expect(await opens(secret)).toBe(false);
});

it('rotates by generation and by period, and keeps the previous secret for the overlap', async () => {
  const roles = 'roles: [view_only_admin]';
  await apply(account(`${roles}, rotation: {period: 30d, overlap: 1h}`));
  const first = delivered();
  const raised = account(`${roles}, rotation: {period: 30d, overlap: 1h, generation: 2}`);
  expect(await planned(raised)).toEqual([['rotate', 'ServiceAccount/ci']]);
  await apply(raised);
  const second = delivered();
  expect(second).not.toBe(first);
  expect([await opens(first), await opens(second)]).toEqual([true, true]);
  expect(await planned(raised)).toEqual([]);
  server.clock.advance(2 * halfHourMs);
  expect([await opens(first), await opens(second)]).toEqual([false, true]);
  server.clock.advance(31 * dayMs);
  expect(await planned(raised)).toEqual([['rotate', 'ServiceAccount/ci']]);
  await apply(raised);
  expect(await opens(delivered())).toBe(true);
  expect(delivered()).not.toBe(second);
});

it('reports a role that an access policy added as drift, and removes it', async () => {
  const text = account('roles: [view_only_admin]');
  await apply(text);
  const { client_id: principal } = await record();
  const body = { principal, resource: `prn:${server.tsgId}::::`, role: 'resource_admin' };
  expect((await server.request('POST', '/iam/v1/access_policies', { body })).status).toBe(201);
  expect(await planned(text)).toEqual([['update', 'ServiceAccount/ci']]);
  await apply(text);
  expect((await record()).roles).toEqual(['view_only_admin']);
});

it('reports a file with another secret, and prints no secret', async () => {
  const text = account('roles: [view_only_admin]');
  await apply(text);
  const secret = delivered();
  writeFileSync(file(), `${secret.slice(0, -1)}x\n`);
  const result = await cycle(text, { act: false });
  expect(result.deliveries.map(({ state }) => state)).toEqual(['mismatch']);
  const { plan, deliveries, warnings } = result;
  expect(JSON.stringify([plan.changes, deliveries, warnings])).not.toContain(secret);
  writeFileSync(file(), `${secret}\n`);
  expect(await planned(text)).toEqual([]);
});

it('creates nothing and leaves no file without the right to create accounts', async () => {
  const { clientId, clientSecret } = await addServiceAccount(server, 'resource_admin');
  const secret = new Secret(clientSecret, 'test');
  const client = sync.openClient({ clientId, clientSecret: secret, owner: 'weak' });
  const { ending, report } = await cycle(account('roles: [resource_admin]'), { client });
  expect(ending).toBe('partialFailure');
  expect(report!.items.map(({ message }) => message).join()).toContain('service_accounts.create');
  expect(await record()).toBeUndefined();
  expect(existsSync(file())).toBe(false);
});

it('applies manifests of resources with the role resource_admin alone', async () => {
  const { clientId, clientSecret } = await addServiceAccount(server, 'resource_admin');
  const secret = new Secret(clientSecret, 'test');
  const client = sync.openClient({ clientId, clientSecret: secret, owner: 'resources' });
  const { ending, report } = await cycle(everyKind, { client });
  const failed = report!.items.filter(({ status }) => status !== 'done');
  expect([ending, failed]).toEqual(['success', []]);
});

it('creates, renames and deletes a child tenant', async () => {
  const tenant = (spec: string) => `apiVersion: gatewright.dev/v1
kind: TenantServiceGroup
metadata: {name: east}
spec: ${spec}
`;
  await apply(tenant('{description: a}'));
  expect(await planned(tenant('{description: a}'))).toEqual([]);
  const children = async () => (await server.request('GET', '/v2/tsgs')).body.data;
  const [{ id, tsg_id }] = await children();
  await apply(tenant('{name: East, description: b}'));
  expect(await children()).toMatchObject([{ id, tsg_id, name: 'East', description: 'b' }]);
  await apply('');
  expect(await children()).toEqual([]);
});

it('sets the maximum lifetime of keys, and removes it', async () => {
  const defaults = (spec: string) => `apiVersion: gatewright.dev/v1
kind: OrganisationDefaults
metadata: {name: default}
spec: ${spec}
`;
  const days = async () =>
    (await server.request('GET', '/v1/organisations/self')).body.data.api_key_max_ttl_days;
  await apply(defaults('{apiKeyMaxTtlDays: 90}'));
  expect(await days()).toBe(90);
  expect(await planned(defaults('{apiKeyMaxTtlDays: 90}'))).toEqual([]);
  await server.request('PUT', '/v1/organisations/self', { body: { api_key_max_ttl_days: 400 } });
  expect(await planned(defaults('{apiKeyMaxTtlDays: 90}'))).toEqual([
    ['update', 'OrganisationDefaults/default'],
  ]);
  await apply('');
  expect(await days()).toBeNull();
});
