/** Starts two replicas of the MCP gateway in front of a server, with every rule on. */
import { openApp } from '../../../src/app.ts';
import { createLog } from '../../../src/log.ts';
import { type McpTestPlane, startMcpTestPlane } from '../server/mcp-plane.ts';
import { startHeaderShim } from './header-shim.ts';

export interface RuledPlane extends AsyncDisposable {
  /** Requests to it take turns among the replicas, and have the key. */
  readonly url: string;
  readonly key: string;
}

export async function startRuledPlane(fixtureUrl: string): Promise<RuledPlane> {
  const stack = new AsyncDisposableStack();
  const plane = stack.use(await startMcpTestPlane({}, new URL(fixtureUrl).host));
  const slug = await addRuledServer(plane, fixtureUrl);
  const log = createLog({ level: 'silent' });
  const replica = stack.use(
    openApp(plane.server.settings, {
      log,
      clock: plane.server.clock,
      readSharedTime: async () => plane.server.clock.now(),
      components: ['mcp'],
    }),
  );
  await replica.connect();
  const { mcpUrl } = await replica.listen();
  const { key } = await plane.addKey();
  const shim = stack.use(
    await startHeaderShim({
      targets: [plane.server.mcpUrl, mcpUrl].map((base) => `${base}/${slug}/mcp`),
      headers: { 'x-gateway-api-key': key },
    }),
  );
  return { url: shim.url, key, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

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
  await plane.sync(integration);
  await plane.guard({ id }, [
    { id: 'default.contains', parameters: { words: ['never in a text'], operator: 'none' } },
  ]);
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
