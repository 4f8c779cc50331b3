/** Table functions for guardrail_exclusions: workspaces that are exempt from their organisation's guardrails. */
import type { Selectable } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from '../rows/paging.ts';
import { resourceTable } from '../rows/resource-table.ts';
import { stampOf } from '../rows/snapshot-marks.ts';
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

export const { insert, findById, findByIdForUpdate, listAllForOrganisation, update, deleteById } =
  table;

export const findByWorkspace = table.rows.findBy('organisation_id', 'workspace_id');

/** Newest first. */
export function list(
  db: Db,
  organisationId: string,
  { workspaceId }: { readonly workspaceId?: string | undefined },
  page: Page,
): Promise<{ rows: StoredGuardrailExclusion[]; total: number }> {
  const filter = { organisation_id: organisationId, workspace_id: workspaceId };
  const source = { db, stamp: stampOf('guardrail_exclusions', organisationId) };
  return listPage(source, table.rows.matching(db, filter), page);
}

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
