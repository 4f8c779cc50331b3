/** Knows the mcp_servers table: integrations as workspaces use them. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { nameOrSlugContains, resourceTable } from '../rows/resource-table.ts';
import type { Versioned } from '../rows/versioned.ts';
import { contentsOf, heldIds } from '../rows/workspace-contents.ts';

interface McpServerRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string;
  mcp_integration_id: string;
  slug: string;
  name: string;
  description: string | null;
  /** Of people of whom nothing is said; null lets them in. */
  default_user_access: 'allow' | 'deny' | null;
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

/** What is kept of servers beside their rows. */
const dependents = ['mcp_server_capabilities', 'mcp_server_users', 'mcp_connections'];

export const contents = contentsOf('McpServer', 'mcp_servers', (at) =>
  dependents.map(
    (table) => sql`delete from ${sql.table(table)} where organisation_id = ${at.organisationId}
      and mcp_server_id in ${heldIds('mcp_servers', at)}`,
  ),
);

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

export interface RegistryFilter {
  readonly workspaceId?: string | undefined;
  /** Part of the name or slug, in any case. */
  readonly search?: string | undefined;
  /** Milliseconds since the epoch; those changed later. */
  readonly changedAfter?: number | undefined;
  /** Id of the last one of the page before. */
  readonly after?: string | undefined;
}

/** Active ones, oldest first, from behind one of them on. */
export function listAfter(
  db: Db,
  organisationId: string,
  { workspaceId, search, changedAfter, after }: RegistryFilter,
  limit: number,
): Promise<StoredMcpServer[]> {
  return db
    .selectFrom('mcp_servers')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('status', '=', 'active')
    .$if(workspaceId !== undefined, (rows) => rows.where('workspace_id', '=', workspaceId!))
    .$if(search !== undefined, (rows) => rows.where(nameOrSlugContains(search!)))
    .$if(changedAfter !== undefined, (rows) => rows.where('last_updated_at', '>', changedAfter!))
    .$if(after !== undefined, (rows) => rows.where('id', '>', after!))
    .orderBy('id')
    .limit(limit)
    .execute();
}
