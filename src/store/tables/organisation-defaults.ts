/** Knows the organisation_defaults table: what holds in every workspace of an organisation, its guardrails and what no export may hold. */
import type { Generated, Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import * as snapshotMarks from './snapshot-marks.ts';
import type { Versioned } from './versioned.ts';

interface OrganisationDefaultsRow extends Versioned {
  organisation_id: string;
  /** JSON lists of ids of guardrails. */
  input_guardrails: string;
  output_guardrails: string;
  /** JSON list of fields. */
  denied_export_fields: string;
  /** Count the writes of which workspaces go without the guardrails. */
  input_exclusions_version: Generated<number>;
  output_exclusions_version: Generated<number>;
}

declare module '../connection/db.ts' {
  interface Tables {
    organisation_defaults: OrganisationDefaultsRow;
  }
}

export type StoredDefaults = Pick<
  Selectable<OrganisationDefaultsRow>,
  'input_guardrails' | 'output_guardrails' | 'version'
>;

/** Of an organisation that has not been given any. */
const none: StoredDefaults = { input_guardrails: '[]', output_guardrails: '[]', version: 1 };

export type ExclusionsVersion = 'input_exclusions_version' | 'output_exclusions_version';

/** How often it was said which workspaces go without the guardrails of one side, and once more. */
export async function findExclusionsVersion(
  db: Db,
  organisationId: string,
  column: ExclusionsVersion,
): Promise<number> {
  const row = await db
    .selectFrom('organisation_defaults')
    .select(column)
    .where('organisation_id', '=', organisationId)
    .executeTakeFirst();
  return row?.[column] ?? 1;
}

/** Counts a write of the exclusions of one side; call it once {@link findForUpdate} has made the row. */
export async function countExclusions(
  tx: Db,
  organisationId: string,
  column: ExclusionsVersion,
): Promise<void> {
  await tx
    .updateTable('organisation_defaults')
    .set({ [column]: sql`${sql.ref(column)} + 1` })
    .where('organisation_id', '=', organisationId)
    .execute();
  snapshotMarks.replaceOne(tx, organisationId);
}

/** JSON list of the fields that no export of the organisation's log may hold. */
export async function findDeniedExportFields(db: Db, organisationId: string): Promise<string> {
  const row = await db
    .selectFrom('organisation_defaults')
    .select('denied_export_fields')
    .where('organisation_id', '=', organisationId)
    .executeTakeFirst();
  return row?.denied_export_fields ?? '[]';
}

export async function find(db: Db, organisationId: string): Promise<StoredDefaults> {
  const row = await db
    .selectFrom('organisation_defaults')
    .select(['input_guardrails', 'output_guardrails', 'version'])
    .where('organisation_id', '=', organisationId)
    .executeTakeFirst();
  return row ?? none;
}

/** Held until the transaction ends; it has a row from then on. */
export async function findForUpdate(
  tx: Db,
  organisationId: string,
  now: number,
): Promise<StoredDefaults> {
  await tx
    .insertInto('organisation_defaults')
    .values({
      ...{ ...none, denied_export_fields: '[]', organisation_id: organisationId },
      ...{ created_at: now, last_updated_at: now },
    })
    .onDuplicateKeyUpdate({ created_at: sql`created_at` })
    .execute();
  return await find(tx, organisationId);
}

/** Counts the write. */
export async function update(
  tx: Db,
  organisationId: string,
  columns: Partial<Omit<StoredDefaults, 'version'> & { readonly denied_export_fields: string }>,
  now: number,
): Promise<void> {
  await tx
    .updateTable('organisation_defaults')
    .set({ ...columns, last_updated_at: now, version: sql`version + 1` })
    .where('organisation_id', '=', organisationId)
    .execute();
  snapshotMarks.replaceOne(tx, organisationId);
}
