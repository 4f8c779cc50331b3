/**
 * Verifies that the server records the use of keys, and that no prune deletes a used key without
 * confirmation.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readImpacts } from '../../../../src/sync/review/impact.ts';
import { eventually } from '../../../support/server/eventually.ts';
import type { TestServer } from '../../../support/server/server.ts';
import { openSync, type SyncSetup, startSyncServer } from '../../../support/sync/sync-setup.ts';

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

const dayMs = 86_400_000;
const workspace = `
apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: support}
---`;
const key = (name: string, within = ''): string => `
apiVersion: gatewright.dev/v1
kind: ApiKey
metadata: {name: ${name}${within}}
spec:
  scopes: [logs.list, ${within === '' ? 'organisation_service_api_keys' : 'workspace_service_api_keys'}.list]
  secretOutput: {file: {path: ${name}.key}}
---`;
const inSupport = key('inside', ', workspace: support');

/** Delivered values, kept here because a file is deleted with its key. */
const values = new Map<string, string>();

async function use(name: string): Promise<number> {
  const value =
    values.get(name) ?? readFileSync(join(sync.secretsFolder, `${name}.key`), 'utf8').trim();
  values.set(name, value);
  return (
    await server.request('GET', '/v1/api-keys', {
      auth: 'none',
      headers: { 'x-gateway-api-key': value },
    })
  ).status;
}

const lastUsed = async (name: string) => {
  const row = await server.database.db
    .selectFrom('api_keys')
    .select(['id', 'last_used_at', 'version'])
    .where('name', '=', name)
    .executeTakeFirstOrThrow();
  return row;
};

it('records a use once an hour for any number of concurrent requests, without changing the version of the key', async () => {
  await sync.cycle(workspace + key('used') + key('idle') + inSupport);
  expect((await lastUsed('used')).last_used_at).toBeNull();
  const statuses = await Promise.all(Array.from({ length: 100 }, () => use('used')));
  expect(new Set(statuses)).toEqual(new Set([200]));
  const first = server.clock.now();
  await eventually(async () => expect((await lastUsed('used')).last_used_at).toBe(first));
  server.clock.advance(1_800_000);
  await use('used');
  server.clock.advance(1_900_000);
  await use('used');
  const later = server.clock.now();
  await eventually(async () => expect((await lastUsed('used')).last_used_at).toBe(later));
  expect((await lastUsed('used')).version).toBe(1);
  const { id } = await lastUsed('used');
  const ids = [(await lastUsed('idle')).id, id.toUpperCase()];
  const reported = await server.request('POST', '/admin/v2/gatewright/sync/key-uses', {
    body: { ids },
  });
  expect(reported.body.data).toEqual([
    { id: ids[0], last_used_at: null },
    { id, last_used_at: new Date(later).toISOString() },
  ]);
});

it('shows in a plan when the affected keys were last used, with one request', async () => {
  const again =
    key('used').replace('logs.list', 'logs.view') + key('idle').replace('logs.list', 'logs.view');
  const { plan } = await sync.cycle(workspace + inSupport + again, { act: false });
  const before = sync.client.requests;
  const impacts = await readImpacts(sync.client, plan);
  expect(sync.client.requests - before).toBe(1);
  const at = new Date((await lastUsed('used')).last_used_at!).toISOString();
  expect(impacts.get('ApiKey/used')).toMatchObject({ lastUse: { at, by: 'ApiKey/used' } });
  expect(impacts.get('ApiKey/idle')).toMatchObject({ lastUse: null, keysQueried: 1 });
});

describe('a prune', () => {
  const guarded = { isReleased: () => false };

  it('keeps a used key until it is named, and deletes an unused one', async () => {
    const stored = await sync.cycle(workspace + inSupport, guarded);
    expect(stored).toMatchObject({ ending: 'refusedByGuard' });
    expect(stored.plan.blocked).toMatchObject([{ id: 'ApiKey/used', reason: 'used-key' }]);
    expect(stored.plan.changes.map(({ id }) => id)).toEqual(['ApiKey/idle']);
    expect(stored.warnings.join()).toContain('1 API key in use left the source and stays until');
    expect(stored.warnings.join()).toContain(
      'gatewright apply . --allow-deletes 2 --delete ApiKey/used',
    );
    expect(await use('used')).toBe(200);
    const named = await sync.cycle(workspace + inSupport, {
      isReleased: (id) => id === 'ApiKey/used',
    });
    expect(named).toMatchObject({ ending: 'success' });
    expect(await use('used')).toBe(401);
  });

  it('deletes a key with its named workspace, and one that was not used for long', async () => {
    await sync.cycle(workspace + inSupport + key('old'));
    expect([await use('inside'), await use('old')]).toEqual([200, 200]);
    await eventually(async () => expect((await lastUsed('old')).last_used_at).not.toBeNull());
    await eventually(async () => expect((await lastUsed('inside')).last_used_at).not.toBeNull());
    const stored = await sync.cycle(key('old'), guarded);
    expect(stored.plan.blocked.map(({ id, reason }) => [id, reason])).toEqual([
      ['ApiKey/support/inside', 'parent-stays'],
      ['Workspace/support', 'guarded'],
    ]);
    const released = { isReleased: (id: string) => id === 'Workspace/support' };
    expect((await sync.cycle(key('old'), released)).ending).toBe('success');
    await sync.cycle(workspace + key('old'));
    server.clock.advance(31 * dayMs);
    const old = await sync.cycle(workspace, { ...guarded, clock: server.clock });
    expect(old).toMatchObject({ ending: 'success', plan: { changes: [{ id: 'ApiKey/old' }] } });
  });
});
