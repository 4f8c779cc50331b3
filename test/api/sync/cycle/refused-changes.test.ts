/** Verifies that a rejected change postpones deletions in its workspace and in no other. */
import { afterAll, beforeAll, expect, it } from 'vitest';
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

const workspace = (name: string): string => `
---
apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: ${name}}
`;
const config = (name: string): string => `
---
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: routing, workspace: ${name}}
spec: {config: {retry: {attempts: 3}}}
`;
/** A valid manifest with a private address, which only the server can reject. */
const refused = `
---
apiVersion: gatewright.dev/v1
kind: McpIntegration
metadata: {name: crm, workspace: support}
spec: {url: 'https://10.0.0.1/mcp', authType: none, transport: http}
`;

it('postpones the deletions of its workspace, executes those of others, and continues after the correction', async () => {
  const both = workspace('support') + workspace('sales');
  await sync.cycle(both + config('support') + config('sales'));
  const { report, ending } = await sync.cycle(both + refused);
  expect(ending).toBe('partialFailure');
  expect(report?.items.map(({ id, status }) => [id, status])).toEqual([
    ['McpIntegration/support/crm', 'failed'],
    ['Config/sales/routing', 'done'],
    ['Config/support/routing', 'blocked'],
  ]);
  expect(report?.items[2]?.message).toContain('another change in its workspace failed');
  const mended = await sync.cycle(both);
  expect(mended).toMatchObject({ ending: 'success', report: { items: [{ status: 'done' }] } });
});
