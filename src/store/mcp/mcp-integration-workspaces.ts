/** Knows the mcp_integration_workspaces table: which workspaces may use MCP integrations of the organisation. */
import type { Insertable, Selectable } from 'kysely';
import type { Db } from '../connection/db.ts';
import { grantTable } from '../rows/grant-table.ts';
import { lockInShareMode } from '../rows/portable-sql.ts';
import * as snapshotMarks from '../rows/snapshot-marks.ts';

interface McpIntegrationWorkspaceRow {
  id: string;
  organisation_id: string;
  mcp_integration_id: string;
  workspace_id: string;
  enabled: number;
  created_at: number;
  last_updated_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    mcp_integration_workspaces: McpIntegrationWorkspaceRow;
  }
}

/** What is said of one workspace, as stored. */
export type StoredMcpIntegrationWorkspace = Selectable<McpIntegrationWorkspaceRow>;

export const { listByIntegration, list, listAllForOrganisation } = grantTable(
  'mcp_integration_workspaces',
);

export async function insertMany(
  tx: Db,
  organisationId: string,
  rows: readonly Insertable<McpIntegrationWorkspaceRow>[],
): Promise<void> {
  if (rows.length === 0) return;
  snapshotMarks.replaceOne(tx, organisationId);
  await tx.insertInto('mcp_integration_workspaces').values(rows).execute();
}

/** Lets these in, or keeps them out. */
export async function updateEnabled(
  tx: Db,
  organisationId: string,
  ids: readonly string[],
  columns: Pick<StoredMcpIntegrationWorkspace, 'enabled' | 'last_updated_at'>,
): Promise<void> {
  if (ids.length === 0) return;
  snapshotMarks.replaceOne(tx, organisationId);
  await tx
    .updateTable('mcp_integration_workspaces')
    .set(columns)
    .where('organisation_id', '=', organisationId)
    .where('id', 'in', ids)
    .execute();
}

export async function deleteByIds(
  tx: Db,
  organisationId: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  snapshotMarks.replaceOne(tx, organisationId);
  await tx
    .deleteFrom('mcp_integration_workspaces')
    .where('organisation_id', '=', organisationId)
    .where('id', 'in', ids)
    .execute();
}

export async function deleteByIntegration(
  tx: Db,
  organisationId: string,
  integrationId: string,
): Promise<void> {
  await tx
    .deleteFrom('mcp_integration_workspaces')
    .where('organisation_id', '=', organisationId)
    .where('mcp_integration_id', '=', integrationId)
    .execute();
}

/** What is said of one workspace, which stays until the transaction ends. */
export function findForShare(
  tx: Db,
  organisationId: string,
  integrationId: string,
  workspaceId: string,
): Promise<StoredMcpIntegrationWorkspace | undefined> {
  return tx
    .selectFrom('mcp_integration_workspaces')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('mcp_integration_id', '=', integrationId)
    .where('workspace_id', '=', workspaceId)
    .modifyEnd(lockInShareMode)
    .executeTakeFirst();
}

/** What these integrations say of these workspaces. */
export function listBetween(
  db: Db,
  organisationId: string,
  integrationIds: readonly string[],
  workspaceIds: readonly string[],
): Promise<StoredMcpIntegrationWorkspace[]> {
  if (integrationIds.length === 0) return Promise.resolve([]);
  return db
    .selectFrom('mcp_integration_workspaces')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('mcp_integration_id', 'in', integrationIds)
    .where('workspace_id', 'in', workspaceIds)
    .execute();
}
