/** Tests that the mock MCP server can be declared everywhere, and is called only where it is trusted, on its real port. */
import { expect, it } from 'vitest';
import { startMockServer } from '../../../src/commands/mock-upstream/mock-server.ts';
import { mockMcpUrl } from '../../../src/model/services/provider-addresses.ts';
import { startMcpTestPlane } from '../../support/server/mcp-plane.ts';
import { testSettings } from '../../support/server/server.ts';

it('stores the address of the mock server, and refuses to call it while it is not trusted', async () => {
  await using plane = await startMcpTestPlane();
  const { key } = await plane.addKey();
  const { slug } = await plane.addServer({}, await plane.addIntegration({ url: mockMcpUrl }));
  const { status, body } = await plane.call(key, slug, 'initialize');
  expect([status, body.error.message]).toEqual([502, expect.stringContaining('TRUSTED_CUSTOM_HO')]);
});

it('calls and explores the mock server that runs beside the gateway', async () => {
  await using mock = await startMockServer('127.0.0.1', 0);
  const { host } = new URL(mock.url);
  const inference = { ...testSettings().inference, mockUpstreamHost: host };
  await using plane = await startMcpTestPlane({ inference }, host);
  const { key } = await plane.addKey();
  const integration = await plane.addIntegration({ url: mockMcpUrl });
  const { slug } = await plane.addServer({}, integration);
  const { body } = await plane.call(key, slug, 'initialize');
  expect(body.result.serverInfo.name).toBe('gatewright-mock');
  const path = `/v2/mcp-integrations/${integration.id}`;
  await plane.server.request('POST', `${path}/sync`);
  const capabilities = await plane.server.request('GET', `${path}/capabilities`);
  expect(JSON.stringify(capabilities.body)).toContain('"wait"');
});
