/** Knows the bodies by which MCP servers (a workspace's instance of an integration) are made and changed. */
import { z } from 'zod';
import { described } from './described.ts';
import { freeText, ResourceName, WorkspaceReference } from './resource-fields.ts';
import { Slug } from './slug.ts';

/** Body of POST /mcp-servers. `mcp_integration_id` is a UUID or a slug. */
export const McpServerCreate = z.object({
  name: ResourceName,
  mcp_integration_id: described(
    z.string().min(1).max(255),
    'Integration that this is an instance of, by UUID or slug.',
  ),
  workspace_id: WorkspaceReference.optional(),
  description: described(freeText(500).nullable().optional(), 'What the server is for.'),
  slug: described(
    Slug.min(3).max(50).optional(),
    'Short name in addresses; made from the name when left out.',
  ),
});
export type McpServerCreate = z.infer<typeof McpServerCreate>;

/** Body of PUT /mcp-servers/{id}; absent fields stay, null clears. */
export const McpServerUpdate = z.object({
  name: ResourceName.optional(),
  description: freeText(500).nullable().optional(),
});
export type McpServerUpdate = z.infer<typeof McpServerUpdate>;
