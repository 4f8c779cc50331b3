/** Table functions for integration_workspaces: the access of single workspaces to integrations of the organisation. */
import type { Selectable } from 'kysely';
import type { Db } from '../connection/db.ts';
import { grantTable } from '../rows/grant-table.ts';
import { rows } from '../rows/rows.ts';
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

/** A grant as stored; `id` is the subject of the budget. */
export type StoredIntegrationWorkspace = Selectable<IntegrationWorkspaceRow>;

export const { listByIntegration, list, listAllForOrganisation } =
  grantTable('integration_workspaces');

const table = rows('integration_workspaces', { marks: snapshotMarks });

export const { insert } = table;
export const findById = table.findBy('organisation_id', 'id');
export const { update } = table.keyedBy('organisation_id', 'id');
export const deleteById = table.deleteBy('organisation_id', 'id');

/** Number of workspaces with access of their own, by integration; an integration without any is absent. */
export async function countEnabled(
  db: Db,
  organisationId: string,
  integrationIds: readonly string[],
): Promise<Map<string, number>> {
  if (integrationIds.length === 0) return new Map();
  const counts = await table
    .matching(db, { organisation_id: organisationId, integration_id: integrationIds, enabled: 1 })
    .select((eb) => ['integration_id', eb.fn.countAll<number>().as('total')])
    .groupBy('integration_id')
    .execute();
  return new Map(counts.map((row) => [row.integration_id, Number(row.total)]));
}
