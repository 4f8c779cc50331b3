/** Tests that the MCP gateway, with every rule on and two replicas, gives each check of the conformance suite the verdict that the server gives directly. */
import { afterAll, describe, expect, it } from 'vitest';
import { openApp } from '../../src/app.ts';
import { createLog } from '../../src/log.ts';
import { differencesOf, passedScenarios, runConformance } from '../support/mcp/conformance.ts';
import { mcpEras } from '../support/mcp/eras.ts';
import { startHeaderShim } from '../support/mcp/header-shim.ts';
import { type McpTestPlane, startMcpTestPlane } from '../support/server/mcp-plane.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

/** A server of the fixture with user access, an allow-list, pins, guardrails on both sides and a limit. */
async function addRuledServer(plane: McpTestPlane, url: string): Promise<string> {
  const integration = await plane.addIntegration({ url });
  const { id, slug } = await plane.addServer(
    {
      default_user_access: 'allow',
      definition_policy: 'block',
      disabled_capabilities: [
        { type: 'tool', name: 'nothing' },
        { type: 'prompt', name: 'nothing' },
        { type: 'resource', name: 'nothing://here' },
      ],
    },
    integration,
  );
  const sync = `/v2/mcp-integrations/${integration.id}/sync`;
  const synced = await plane.server.request('POST', sync, { body: {} });
  expect(synced.body).toMatchObject({ success: true });
  const guardrail = await plane.create('/v2/guardrails', {
    name: 'passing',
    target: 'mcp_tools',
    workspace_id: plane.workspace.id,
    checks: [
      { id: 'default.contains', parameters: { words: ['never in a text'], operator: 'none' } },
    ],
    actions: { deny: true },
  });
  const path = `/admin/v2/guardrails/${guardrail.id}/mcp-servers/${id}`;
  expect((await plane.server.request('PUT', path, { body: {} })).status).toBe(200);
  await plane.create('/v2/policies/rate-limits', {
    name: 'calls',
    target: 'mcp_tools',
    conditions: [{ key: 'mcp_server', value: slug }],
    group_by: [{ key: 'mcp_tool' }],
    workspace_id: plane.workspace.id,
    type: 'requests',
    unit: 'rpd',
    value: 100_000,
  });
  return slug;
}

describe.each(mcpEras)('the gateway in front of the $name fixture', (era) => {
  it('has the verdict of the fixture for each check, through two replicas with every rule', async () => {
    const fixture = stack.use(await era.start());
    const direct = await runConformance(fixture.url, era.revision);
    const plane = stack.use(await startMcpTestPlane({}, new URL(fixture.url).host));
    const slug = await addRuledServer(plane, fixture.url);
    const log = createLog({ level: 'silent' });
    const replica = stack.use(openApp(plane.server.settings, { log, components: ['mcp'] }));
    await replica.connect();
    const { mcpUrl } = await replica.listen();
    const { key } = await plane.addKey();
    const shim = stack.use(
      await startHeaderShim({
        targets: [plane.server.mcpUrl, mcpUrl].map((base) => `${base}/${slug}/mcp`),
        headers: { 'x-gateway-api-key': key },
      }),
    );
    const through = await runConformance(shim.url, era.revision);
    expect(differencesOf(direct, through)).toEqual([]);
    expect(passedScenarios(through)).toHaveLength(era.requiredCount);
    expect(JSON.stringify(fixture.journal.map(({ headers }) => headers))).not.toContain(key);
  });
});
