/** Knows the guardrail_exclusions table: workspaces that go without the guardrails of their organisation. */
import type { Selectable } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from '../rows/paging.ts';
import { resourceTable } from '../rows/resource-table.ts';
import { stampOf } from '../rows/snapshot-marks.ts';
import type { Versioned } from '../rows/versioned.ts';
import type { Place } from '../rows/workspace-contents.ts';
import * as managedResources from '../sync/managed-resources.ts';

interface GuardrailExclusionRow extends Versioned {
  id: string;
  organisation_id: string;
  /** No other row has it. */
  workspace_id: string;
  /** 1: goes without. */
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

export const { insert, findById, findByIdForUpdate, listAllForOrganisation, update, deleteById } =
  resourceTable('guardrail_exclusions');

/** Newest first. */
export function list(
  db: Db,
  organisationId: string,
  { workspaceId }: { readonly workspaceId?: string | undefined },
  page: Page,
): Promise<{ rows: StoredGuardrailExclusion[]; total: number }> {
  const query = db
    .selectFrom('guardrail_exclusions')
    .where('organisation_id', '=', organisationId)
    .$if(workspaceId !== undefined, (rows) => rows.where('workspace_id', '=', workspaceId!));
  return listPage({ db, stamp: stampOf('guardrail_exclusions', organisationId) }, query, page);
}

export function findByWorkspace(
  db: Db,
  organisationId: string,
  workspaceId: string,
): Promise<StoredGuardrailExclusion | undefined> {
  return db
    .selectFrom('guardrail_exclusions')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
}

/** It goes with its workspace, whose delete it does not stand in the way of. */
export async function deleteWithWorkspace(
  tx: Db,
  { organisationId, workspaceId }: Place,
): Promise<void> {
  const row = await findByWorkspace(tx, organisationId, workspaceId);
  if (row === undefined) return;
  await deleteById(tx, organisationId, row.id);
  await managedResources.deleteByResource(tx, organisationId, 'GuardrailExclusion', row.id);
}
