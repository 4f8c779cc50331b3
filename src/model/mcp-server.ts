/** Knows the bodies by which MCP servers (a workspace's instance of an integration) are made and changed. */
import { z } from 'zod';
import { freeText, ResourceName, WorkspaceReference } from './resource-fields.ts';
import { Slug } from './slug.ts';

/** Body of POST /mcp-servers. `mcp_integration_id` is a UUID or a slug. */
export const McpServerCreate = z.object({
  name: ResourceName,
  mcp_integration_id: z.string().min(1).max(255),
  workspace_id: WorkspaceReference.optional(),
  description: freeText(500).nullable().optional(),
  slug: Slug.min(3).max(50).optional(),
});
export type McpServerCreate = z.infer<typeof McpServerCreate>;

/** Body of PUT /mcp-servers/{id}; absent fields stay, null clears. */
export const McpServerUpdate = z.object({
  name: ResourceName.optional(),
  description: freeText(500).nullable().optional(),
});
export type McpServerUpdate = z.infer<typeof McpServerUpdate>;
