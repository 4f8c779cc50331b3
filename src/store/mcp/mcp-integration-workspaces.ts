/** Table functions for mcp_integration_workspaces: the access of workspaces to MCP integrations of the organisation. */
import type { Selectable } from 'kysely';
import type { Db } from '../connection/db.ts';
import { grantTable } from '../rows/grant-table.ts';
import { rows } from '../rows/rows.ts';
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

/** Access of one workspace, as stored. */
export type StoredMcpIntegrationWorkspace = Selectable<McpIntegrationWorkspaceRow>;

export const { listByIntegration, list, listAllForOrganisation } = grantTable(
  'mcp_integration_workspaces',
);

const table = rows('mcp_integration_workspaces', { marks: snapshotMarks });

export const { insertMany } = table;
export const deleteByIds = table.deleteBy('organisation_id', 'id');

/** Used when the integration itself is deleted, which replaces the snapshot mark. */
export const deleteByIntegration = rows('mcp_integration_workspaces').deleteBy(
  'organisation_id',
  'mcp_integration_id',
);

/** Allows or denies access. */
export async function updateEnabled(
  tx: Db,
  organisationId: string,
  ids: readonly string[],
  columns: Pick<StoredMcpIntegrationWorkspace, 'enabled' | 'last_updated_at'>,
): Promise<void> {
  await table.update(tx, { organisation_id: organisationId, id: ids }, columns);
}

/** The row of one workspace, which cannot change until the transaction ends. */
export function findForShare(
  tx: Db,
  organisationId: string,
  integrationId: string,
  workspaceId: string,
): Promise<StoredMcpIntegrationWorkspace | undefined> {
  return table.findForShare(tx, {
    organisation_id: organisationId,
    mcp_integration_id: integrationId,
    workspace_id: workspaceId,
  });
}

/** Rows of these integrations for these workspaces. */
export const listBetween = table.listBy(['organisation_id', 'mcp_integration_id', 'workspace_id']);
