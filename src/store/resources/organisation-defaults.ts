/** Table functions for organisation_defaults: guardrails of every workspace, and fields that no log export may contain. */
import type { Generated, Selectable } from 'kysely';
import { sql } from 'kysely';
import { newId } from '../../model/wire/ids.ts';
import type { Db } from '../connection/db.ts';
import { type RowCondition, resourceTable } from '../rows/resource-table.ts';
import * as snapshotMarks from '../rows/snapshot-marks.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import { isDeclared } from '../sync/managed-resources.ts';

interface OrganisationDefaultsRow extends VersionColumns {
  organisation_id: string;
  id: string;
  /** JSON lists of ids of guardrails. */
  input_guardrails: string;
  output_guardrails: string;
  /** As above, for calls of MCP tools; null for none. */
  mcp_input_guardrails: string | null;
  mcp_output_guardrails: string | null;
  /** JSON list of fields. */
  denied_export_fields: string;
  /** Incremented by each change of the workspaces that are exempt from the guardrails. */
  input_exclusions_version: Generated<number>;
  output_exclusions_version: Generated<number>;
}

declare module '../connection/db.ts' {
  interface Tables {
    organisation_defaults: OrganisationDefaultsRow;
  }
}

export type StoredOrganisationDefaults = Selectable<OrganisationDefaultsRow>;

export type StoredDefaults = Pick<
  StoredOrganisationDefaults,
  | 'input_guardrails'
  | 'output_guardrails'
  | 'mcp_input_guardrails'
  | 'mcp_output_guardrails'
  | 'version'
>;

/** The defaults of an organisation without a row. */
export const none: StoredDefaults = {
  input_guardrails: '[]',
  output_guardrails: '[]',
  mcp_input_guardrails: null,
  mcp_output_guardrails: null,
  version: 1,
};

/** Column values of defaults that set nothing. */
export const emptyDefaults = {
  input_guardrails: '[]',
  output_guardrails: '[]',
  mcp_input_guardrails: '[]',
  mcp_output_guardrails: '[]',
  denied_export_fields: '[]',
} as const;

const table = resourceTable('organisation_defaults', { hasSlug: false });

export const { update } = table;

export type ExclusionsVersion = 'input_exclusions_version' | 'output_exclusions_version';

/** Number of changes of the exemptions on one side, plus one. */
export async function findExclusionsVersion(
  db: Db,
  organisationId: string,
  column: ExclusionsVersion,
): Promise<number> {
  return (await table.rows.find(db, { organisation_id: organisationId }))?.[column] ?? 1;
}

/** Increments the exemption versions. Call {@link findForUpdate} before, which creates the row. */
export async function countExclusions(
  tx: Db,
  organisationId: string,
  columns: readonly ExclusionsVersion[],
): Promise<void> {
  if (columns.length === 0) return;
  await tx
    .updateTable('organisation_defaults')
    .set(Object.fromEntries(columns.map((column) => [column, sql`${sql.ref(column)} + 1`])))
    .where('organisation_id', '=', organisationId)
    .execute();
  snapshotMarks.replaceOne(tx, organisationId);
}

/** JSON list of the fields that no export of the organisation's log may contain. */
export async function findDeniedExportFields(db: Db, organisationId: string): Promise<string> {
  const row = await table.rows.find(db, { organisation_id: organisationId });
  return row?.denied_export_fields ?? '[]';
}

export async function find(db: Db, organisationId: string): Promise<StoredDefaults> {
  return (await table.rows.find(db, { organisation_id: organisationId })) ?? none;
}

/**
 * The row of the organisation if it is declared or sets something; `hasOthers` states whether another table
 * does. A row is never deleted, so that its version only grows; after a reset it sets nothing.
 */
export function listInUse(
  db: Db,
  organisationId: string,
  condition: RowCondition | null,
  hasOthers: boolean,
): Promise<StoredOrganisationDefaults[]> {
  const columns = Object.keys(emptyDefaults) as (keyof typeof emptyDefaults)[];
  return table.rows
    .matching(db, { organisation_id: organisationId })
    .selectAll()
    .where((is) =>
      is.or([
        isDeclared('OrganisationDefaults', 'organisation_defaults'),
        ...columns.map((column) => is(column, '<>', '[]')),
        sql<boolean>`${hasOthers}`,
      ]),
    )
    .$if(condition !== null, (all) => all.where(condition!('organisation_defaults', false)))
    .execute();
}

/** Records that a setting in another table was changed. */
export async function touch(tx: Db, organisationId: string, now: number): Promise<void> {
  const { id } = await findForUpdate(tx, organisationId, now);
  await table.update(tx, organisationId, id, { last_updated_at: now });
}

/** Creates the row if it does not exist, and locks it until the transaction ends. */
export async function findForUpdate(
  tx: Db,
  organisationId: string,
  now: number,
): Promise<StoredOrganisationDefaults> {
  await tx
    .insertInto('organisation_defaults')
    .values({
      ...emptyDefaults,
      organisation_id: organisationId,
      id: newId(),
      version: 1,
      created_at: now,
      last_updated_at: now,
    })
    .onDuplicateKeyUpdate({ created_at: sql`created_at` })
    .execute();
  return await tx
    .selectFrom('organisation_defaults')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .executeTakeFirstOrThrow();
}
