/** Reads and approves the definitions of an MCP integration over the Admin API. */
import { z } from 'zod';
import { Failure } from '../../failure.ts';
import { definitionStates } from '../../model/mcp/definition-state.ts';
import { McpCapabilityType } from '../../model/mcp/mcp-integration.ts';
import type { AdminClient } from './client.ts';

const ServerDefinitions = z.object({
  approved_by: z.enum(['first_sync', 'declared']).nullable(),
  data: z.array(
    z.object({
      type: McpCapabilityType,
      name: z.string(),
      state: z.enum(definitionStates),
      approved_digest: z.string().nullable(),
      seen_digest: z.string().nullable(),
      changes: z.array(z.string()),
      warnings: z.array(z.object({ code: z.string(), field: z.string(), excerpt: z.string() })),
    }),
  ),
});
export type ServerDefinitions = z.infer<typeof ServerDefinitions>;
export type ServerDefinition = ServerDefinitions['data'][number];

function pathOf(id: string, rest: string): string {
  return `/admin/v2/mcp-integrations/${encodeURIComponent(id)}/${rest}`;
}

/** @throws what the client throws */
export async function readDefinitions(
  client: AdminClient,
  id: string,
  signal: AbortSignal,
): Promise<ServerDefinitions> {
  const path = pathOf(id, 'definitions');
  const { body } = await client.request({ method: 'GET', path, signal });
  const read = ServerDefinitions.safeParse(body);
  if (read.success) return read.data;
  const message = 'the server returned definitions that this version cannot read';
  throw new Failure('unreachable', message, { cause: read.error });
}

/** Has the server list its capabilities again; returns the reason of a failure, or null. */
export async function refreshDefinitions(
  client: AdminClient,
  id: string,
  signal: AbortSignal,
): Promise<string | null> {
  const path = pathOf(id, 'sync');
  const { body } = await client.request({ method: 'POST', path, body: {}, signal });
  return (body as { sync_error?: string | null }).sync_error ?? null;
}

/** @throws ApiRefusal 409 when a definition has changed since it was read; what the client throws */
export async function sendApproval(
  client: AdminClient,
  id: string,
  approved: readonly ServerDefinition[],
  signal: AbortSignal,
): Promise<void> {
  const path = pathOf(id, 'definitions/approve');
  const definitions = approved.map(({ type, name, seen_digest: digest }) => ({
    type,
    name,
    digest,
  }));
  await client.request({ method: 'POST', path, body: { definitions }, signal });
}
