/** Knows the mcp_servers table: integrations as workspaces use them. */
import type { Selectable } from 'kysely';
import type { Db } from '../connection/db.ts';
import { resourceTable } from './resource-table.ts';
import type { Versioned } from './versioned.ts';
import { contentsOf } from './workspace-contents.ts';

interface McpServerRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string;
  mcp_integration_id: string;
  slug: string;
  name: string;
  description: string | null;
  status: 'active' | 'archived';
}

declare module '../connection/db.ts' {
  interface Tables {
    mcp_servers: McpServerRow;
  }
}

/** A server as stored. */
export type StoredMcpServer = Selectable<McpServerRow>;

export const {
  insert,
  findByIdOrSlug,
  findByIdOrSlugForUpdate,
  listByReferencesForShare,
  list,
  listAllForOrganisation,
  update,
  deleteById,
} = resourceTable('mcp_servers');

export const contents = contentsOf('McpServer', 'mcp_servers');

/** A server made from the integration, if there is one. */
export function findByIntegration(
  db: Db,
  organisationId: string,
  integrationId: string,
): Promise<StoredMcpServer | undefined> {
  return db
    .selectFrom('mcp_servers')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('mcp_integration_id', '=', integrationId)
    .limit(1)
    .executeTakeFirst();
}
