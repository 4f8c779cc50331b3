/** Creates people, limits, providers and MCP servers whose names and texts are markup. */

import { addUser } from '../server/people.ts';
import type { TestServer } from '../server/server.ts';

type Create = <Created = { readonly id: string }>(path: string, body: unknown) => Promise<Created>;

/** Returns the pages of single resources. `text` fits into the shortest names. */
export async function addHostileTenant(
  server: TestServer,
  create: Create,
  { text, workspaceId }: { readonly text: string; readonly workspaceId: string },
): Promise<string[]> {
  const userId = await addUser(server, {
    first_name: text,
    last_name: text,
    email: `"${text.replaceAll(/[\s"]/g, '')}"@example.com`,
  });
  await create('/v1/admin/users/invites', {
    email: 'invited@example.com',
    role: 'member',
    workspaces: [{ id: workspaceId, role: 'member' }],
  });
  const policy = await create('/v2/policies/usage-limits', {
    name: text,
    conditions: [{ key: 'metadata.team', value: text }],
    group_by: [{ key: 'metadata.team' }],
    type: 'cost',
    credit_limit: 10,
    workspace_id: workspaceId,
  });
  await create('/v2/policies/rate-limits', {
    name: text,
    conditions: [{ key: 'metadata.team', value: text }],
    group_by: [{ key: 'api_key' }],
    type: 'requests',
    unit: 'rpw',
    value: 1,
    workspace_id: workspaceId,
  });
  const provider = await addProvider(create, text, workspaceId);
  const mcpServer = await addMcpServer(server, create, text, workspaceId);
  return [
    `/people/${userId}`,
    `/limits/${policy.id}`,
    `/providers/${provider.id}`,
    `/mcp-servers/${mcpServer.id}`,
  ];
}

async function addProvider(create: Create, text: string, workspaceId: string) {
  const integration = await create('/v1/integrations', {
    name: text,
    description: text,
    ai_provider_id: 'openai',
    key: 'secret',
  });
  return create('/v1/providers', {
    name: text,
    note: text,
    integration_id: integration.id,
    workspace_id: workspaceId,
  });
}

/** The definitions come from the MCP server, which may be hostile. */
async function addMcpServer(server: TestServer, create: Create, text: string, workspaceId: string) {
  const integration = await create('/v2/mcp-integrations', {
    name: text,
    description: text,
    url: 'https://mcp.invalid',
    auth_type: 'none',
    transport: 'http',
  });
  const place = `/v2/mcp-integrations/${integration.id}`;
  const access = { workspaces: [{ id: workspaceId, enabled: true }] };
  await server.request('PUT', `${place}/workspaces`, { body: access });
  await create(`${place}/sync`, {
    server_info: { name: text, version: text, title: text, instructions: text },
    capabilities: ['tool', 'prompt', 'resource'].map((type) => ({
      type,
      name: text,
      title: text,
      description: text,
      uri: `file:///${text}`,
    })),
  });
  return create('/v2/mcp-servers', {
    name: text,
    description: text,
    mcp_integration_id: integration.id,
    workspace_id: workspaceId,
  });
}
