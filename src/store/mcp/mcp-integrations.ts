/** Table functions for mcp_integrations. Callers seal secret values before storing them. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { DefinitionPolicy } from '../../model/mcp/definition-state.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPageInSlices, type SlicedPage } from '../rows/paging.ts';
import {
  isOwnedBy,
  type ListFilter,
  nameOrSlugContains,
  resourceTable,
} from '../rows/resource-table.ts';
import { stampOf } from '../rows/snapshot-marks.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import { contentsOf, heldIds } from '../rows/workspace-contents.ts';

interface McpIntegrationRow extends VersionColumns {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  slug: string;
  name: string;
  description: string | null;
  url: string;
  auth_type: string;
  transport: string;
  configurations: string | null;
  secret_mappings: string | null;
  /** Access of workspaces without a row in mcp_integration_workspaces. */
  global_workspace_access: string | null;
  /** Policy for definitions that are not approved; null observes them. */
  definition_policy: DefinitionPolicy | null;
  /** JSON list; null for none. */
  disabled_client_capabilities: string | null;
  /** Origin of the approved definitions; null before there are any. */
  definitions_from: 'first_sync' | 'declared' | null;
  status: 'active' | 'archived';
  owner_id: string;
}

declare module '../connection/db.ts' {
  interface Tables {
    mcp_integrations: McpIntegrationRow;
  }
}

/** An integration as stored. */
export type StoredMcpIntegration = Selectable<McpIntegrationRow>;

const table = resourceTable('mcp_integrations');

export const {
  insert,
  findByIdOrSlug,
  findByIdOrSlugForShare,
  findByIdOrSlugForUpdate,
  listByIds,
  listAllForOrganisation,
  update,
  deleteById,
} = table;

/** Includes its capabilities and metadata, and the workspace's access to integrations of the organisation. */
export const contents = contentsOf('McpIntegration', 'mcp_integrations', (at) => [
  sql`delete from mcp_integration_workspaces
    where organisation_id = ${at.organisationId} and workspace_id = ${at.workspaceId}`,
  ...['mcp_capabilities', 'mcp_definitions', 'mcp_metadata', 'mcp_oauth_clients'].map(
    (table) => sql`delete from ${sql.table(table)} where organisation_id = ${at.organisationId}
      and mcp_integration_id in ${heldIds('mcp_integrations', at)}`,
  ),
]);

/** Records who stated the approved definitions, which is no new version of the integration. */
export function setDefinitionsFrom(
  tx: Db,
  { organisation_id, id }: Pick<StoredMcpIntegration, 'organisation_id' | 'id'>,
  from: StoredMcpIntegration['definitions_from'],
): Promise<number> {
  return table.rows.update(tx, { organisation_id, id }, { definitions_from: from });
}

export type McpIntegrationFilter = Omit<ListFilter, 'ids'>;

export function list(
  db: Db,
  organisationId: string,
  filter: McpIntegrationFilter,
  page: Page,
): Promise<SlicedPage<StoredMcpIntegration>> {
  const { type, workspaceId, search } = filter;
  const query = table.rows
    .matching(db, { organisation_id: organisationId, workspace_id: workspaceId })
    .$if(type !== undefined, (all) => all.where(isOwnedBy(type!)))
    .$if(search !== undefined, (all) => all.where(nameOrSlugContains(search!)));
  return listPageInSlices({ db, stamp: stampOf('mcp_integrations', organisationId) }, query, page, [
    'configurations',
    'description',
  ]);
}
