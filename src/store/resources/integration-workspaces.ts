/** Knows the integration_workspaces table: what single workspaces may do with integrations of the organisation. */
import type { Insertable, Selectable, Updateable } from 'kysely';
import type { Db } from '../connection/db.ts';
import { grantTable } from '../rows/grant-table.ts';
import * as snapshotMarks from '../rows/snapshot-marks.ts';

interface IntegrationWorkspaceRow {
  id: string;
  organisation_id: string;
  integration_id: string;
  workspace_id: string;
  enabled: number;
  usage_limits: string | null;
  rate_limits: string | null;
  last_reset_at: number | null;
  created_at: number;
  last_updated_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    integration_workspaces: IntegrationWorkspaceRow;
  }
}

/** A grant as stored; its id is the subject of the budget. */
export type StoredIntegrationWorkspace = Selectable<IntegrationWorkspaceRow>;

export const { listByIntegration, list, listAllForOrganisation } =
  grantTable('integration_workspaces');

export async function insert(tx: Db, row: Insertable<IntegrationWorkspaceRow>): Promise<void> {
  snapshotMarks.replaceOne(tx, row.organisation_id);
  await tx.insertInto('integration_workspaces').values(row).execute();
}

export async function update(
  tx: Db,
  { organisation_id, id }: Pick<StoredIntegrationWorkspace, 'organisation_id' | 'id'>,
  columns: Omit<Updateable<IntegrationWorkspaceRow>, 'id' | 'organisation_id'>,
): Promise<void> {
  snapshotMarks.replaceOne(tx, organisation_id);
  await tx
    .updateTable('integration_workspaces')
    .set(columns)
    .where('organisation_id', '=', organisation_id)
    .where('id', '=', id)
    .execute();
}

export async function deleteById(tx: Db, organisationId: string, id: string): Promise<void> {
  snapshotMarks.replaceOne(tx, organisationId);
  await tx
    .deleteFrom('integration_workspaces')
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .execute();
}

/** How many workspaces are let in by name, by integration; those without any are absent. */
export async function countEnabled(
  db: Db,
  organisationId: string,
  integrationIds: readonly string[],
): Promise<Map<string, number>> {
  if (integrationIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('integration_workspaces')
    .select((eb) => ['integration_id', eb.fn.countAll<number>().as('total')])
    .where('organisation_id', '=', organisationId)
    .where('integration_id', 'in', integrationIds)
    .where('enabled', '=', 1)
    .groupBy('integration_id')
    .execute();
  return new Map(rows.map((row) => [row.integration_id, Number(row.total)]));
}
