/** Table functions for guardrail_exclusions: workspaces that are exempt from their organisation's guardrails. */
import type { Selectable } from 'kysely';
import type { Db } from '../connection/db.ts';
import { resourceTable } from '../rows/resource-table.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import type { OwningWorkspace } from '../rows/workspace-contents.ts';
import * as managedResources from '../sync/managed-resources.ts';

interface GuardrailExclusionRow extends VersionColumns {
  id: string;
  organisation_id: string;
  /** Unique. */
  workspace_id: string;
  /** 1 exempts the workspace. */
  input_guardrails: number;
  output_guardrails: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    guardrail_exclusions: GuardrailExclusionRow;
  }
}

/** An exclusion as stored. */
export type StoredGuardrailExclusion = Selectable<GuardrailExclusionRow>;

const table = resourceTable('guardrail_exclusions', { hasSlug: false });

export const {
  insert,
  findById,
  findByIdForUpdate,
  listMatching,
  listAllForOrganisation,
  update,
  deleteById,
} = table;

export const findByWorkspace = table.rows.findBy('organisation_id', 'workspace_id');

/** Deletes the exclusion of a workspace that is being deleted; it does not prevent that delete. */
export async function deleteWithWorkspace(
  tx: Db,
  { organisationId, workspaceId }: OwningWorkspace,
): Promise<void> {
  const row = await findByWorkspace(tx, organisationId, workspaceId);
  if (row === undefined) return;
  await deleteById(tx, organisationId, row.id);
  await managedResources.deleteByResource(tx, organisationId, 'GuardrailExclusion', row.id);
}
