/** Table functions for mcp_servers: the handles of workspaces on MCP integrations. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { DefinitionPolicy } from '../../model/mcp/definition-state.ts';
import type { Db } from '../connection/db.ts';
import { lessThan, moreThan } from '../rows/predicate.ts';
import { nameOrSlugContains, resourceTable } from '../rows/resource-table.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import { contentsOf, heldIds } from '../rows/workspace-contents.ts';

interface McpServerRow extends VersionColumns {
  id: string;
  organisation_id: string;
  workspace_id: string;
  mcp_integration_id: string;
  slug: string;
  name: string;
  description: string | null;
  /** Access of users without a row in mcp_server_users; null allows it. */
  default_user_access: 'allow' | 'deny' | null;
  /** Policy for definitions that are not approved; null observes them. */
  definition_policy: DefinitionPolicy | null;
  /** JSON list; null for none. */
  disabled_client_capabilities: string | null;
  status: 'active' | 'archived';
}

declare module '../connection/db.ts' {
  interface Tables {
    mcp_servers: McpServerRow;
  }
}

/** A server as stored. */
export type StoredMcpServer = Selectable<McpServerRow>;

const table = resourceTable('mcp_servers');

export const {
  insert,
  findByIdOrSlug,
  findByIdOrSlugForUpdate,
  listByReferencesForShare,
  list,
  listAllForOrganisation,
  update,
  deleteById,
} = table;

/** Tables with rows that belong to a server. */
const dependents = [
  'mcp_server_capabilities',
  'mcp_server_users',
  'mcp_connections',
  'mcp_authorizations',
];

export const contents = contentsOf('McpServer', 'mcp_servers', (at) =>
  dependents.map(
    (table) => sql`delete from ${sql.table(table)} where organisation_id = ${at.organisationId}
      and mcp_server_id in ${heldIds('mcp_servers', at)}`,
  ),
);

/** Any server of the integration. */
export function findByIntegration(
  db: Db,
  organisationId: string,
  integrationId: string,
): Promise<StoredMcpServer | undefined> {
  const where = { organisation_id: organisationId, mcp_integration_id: integrationId };
  return table.rows.findFirst(db, where);
}

/** Ids and slugs of the servers of a workspace. */
export function listServerNames(
  db: Db,
  organisationId: string,
  workspaceId: string,
): Promise<Pick<StoredMcpServer, 'id' | 'slug'>[]> {
  return table.rows
    .matching(db, { organisation_id: organisationId, workspace_id: workspaceId })
    .select(['id', 'slug'])
    .execute();
}

export interface RegistryFilter {
  readonly workspaceId?: string | undefined;
  /** Part of the name or slug, in any case. */
  readonly search?: string | undefined;
  /** Milliseconds since the epoch; only servers changed later. */
  readonly changedAfter?: number | undefined;
  /** Id of the last server of the previous page. */
  readonly before?: string | undefined;
}

/** Up to `limit` active servers, newest first. */
export function listBefore(
  db: Db,
  organisationId: string,
  { workspaceId, search, changedAfter, before }: RegistryFilter,
  limit: number,
): Promise<StoredMcpServer[]> {
  return table.rows
    .matching(db, {
      organisation_id: organisationId,
      status: 'active',
      workspace_id: workspaceId,
      last_updated_at: changedAfter === undefined ? undefined : moreThan(changedAfter),
      id: before === undefined ? undefined : lessThan(before),
    })
    .selectAll()
    .$if(search !== undefined, (all) => all.where(nameOrSlugContains(search!)))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}
