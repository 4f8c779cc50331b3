/**
 * Verifies how sync handles secrets that it may not compare, and secrets that a new address
 * requires again.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Secret } from '../../../../src/secret.ts';
import type { TestServer } from '../../../support/server/server.ts';
import { addServiceAccount } from '../../../support/server/tenant.ts';
import {
  canaries,
  everyKind,
  openSync,
  type SyncSetup,
  startSyncServer,
} from '../../../support/sync/sync-setup.ts';

let server: TestServer;
let sync: SyncSetup;

beforeAll(async () => {
  server = await startSyncServer();
  sync = openSync(server);
  await sync.cycle(everyKind);
});
afterAll(async () => {
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const uncompared =
  'the secret values of McpIntegration/support/crm cannot be compared by credentials that may not write them';

describe('a plan with read-only credentials', () => {
  it('shows every change except those of secret values, and says so', async () => {
    const { clientId, clientSecret } = await addServiceAccount(server, 'view_only_admin');
    const client = sync.openClient({ clientId, clientSecret: new Secret(clientSecret, 'test') });
    const changed = everyKind
      .replace('{env: GW_VAR_CRM_TOKEN', '{env: GW_VAR_OTHER_TOKEN')
      .replace('https://crm.example.com/mcp', 'https://crm.example.com/mcp2');
    const { plan, warnings } = await sync.cycle(changed, { client, act: false });
    expect(plan.changes.map(({ id, fields }) => [id, fields.map(({ path }) => path)])).toEqual([
      ['McpIntegration/support/crm', ['/url']],
    ]);
    expect(warnings).toContain(uncompared);
    const known = await sync.cycle(changed, { act: false });
    expect(known.warnings).not.toContain(uncompared);
    expect(known.plan.changes[0]!.fields.map(({ path }) => path)).toEqual([
      '/configurations/custom_headers/Authorization',
      '/url',
    ]);
  });
});

describe('a changed address', () => {
  it('is sent with its secrets, and leaves nothing to change', async () => {
    const moved = everyKind.replace('https://crm.example.com/mcp', 'https://crm2.example.com/mcp');
    const planned = await sync.cycle(moved, { act: false });
    expect(planned.plan.changes.map(({ action, fields }) => [action, fields])).toEqual([
      ['update', [expect.objectContaining({ path: '/url' })]],
    ]);
    const applied = await sync.cycle(moved);
    expect(applied.report?.items.map(({ status }) => status)).toEqual(['done']);
    const again = await sync.cycle(moved, { act: false });
    expect(again.plan.changes).toEqual([]);
    const row = await server.database.db
      .selectFrom('mcp_integrations')
      .select(['id', 'url', 'configurations'])
      .executeTakeFirstOrThrow();
    expect(row.url).toBe('https://crm2.example.com/mcp');
    const sealed = JSON.parse(row.configurations!).custom_headers.Authorization;
    const place = `mcp_integrations|${row.id}|configurations.custom_headers.Authorization`;
    const value = `Bearer ${canaries.GW_VAR_CRM_TOKEN}`;
    const unsealer = await server.app.keyring.unsealerOf(server.organisationId);
    expect(unsealer.unseal(sealed, place)).toBe(value);
  });
});
