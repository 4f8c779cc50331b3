/** Knows the organisation_defaults table: what holds in every workspace of an organisation, its guardrails and what no export may hold. */
import type { Generated, Selectable } from 'kysely';
import { sql } from 'kysely';
import { newId } from '../../model/wire/ids.ts';
import type { Db } from '../connection/db.ts';
import { resourceTable, type RowCondition } from '../rows/resource-table.ts';
import * as snapshotMarks from '../rows/snapshot-marks.ts';
import type { Versioned } from '../rows/versioned.ts';
import { isDeclared } from '../sync/managed-resources.ts';

interface OrganisationDefaultsRow extends Versioned {
  organisation_id: string;
  id: string;
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

/** As it is stored. */
export type StoredOrganisationDefaults = Selectable<OrganisationDefaultsRow>;

export type StoredDefaults = Pick<
  StoredOrganisationDefaults,
  'input_guardrails' | 'output_guardrails' | 'version'
>;

/** Of an organisation that has not been given any. */
const none: StoredDefaults = { input_guardrails: '[]', output_guardrails: '[]', version: 1 };

/** What is said of nothing. */
export const nothing = {
  input_guardrails: '[]',
  output_guardrails: '[]',
  denied_export_fields: '[]',
} as const;

export const { update } = resourceTable('organisation_defaults');

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

/** Counts a write of the exclusions of each side named; call it once {@link findForUpdate} has made the row. */
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

/**
 * What is declared, or says something: one at most. A row stays once it was made, so that its version
 * counts on, and says nothing where it went back to what everyone has at first.
 */
export function listSaying(
  db: Db,
  organisationId: string,
  which: RowCondition | null = null,
): Promise<StoredOrganisationDefaults[]> {
  const columns = Object.keys(nothing) as (keyof typeof nothing)[];
  return db
    .selectFrom('organisation_defaults')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where((is) =>
      is.or([
        isDeclared('OrganisationDefaults', 'organisation_defaults'),
        ...columns.map((column) => is(column, '<>', '[]')),
      ]),
    )
    .$if(which !== null, (rows) => rows.where(which!('organisation_defaults', false)))
    .execute();
}

/** Held until the transaction ends; it has a row from then on. */
export async function findForUpdate(
  tx: Db,
  organisationId: string,
  now: number,
): Promise<StoredOrganisationDefaults> {
  await tx
    .insertInto('organisation_defaults')
    .values({
      ...{ ...nothing, organisation_id: organisationId, id: newId(), version: 1 },
      ...{ created_at: now, last_updated_at: now },
    })
    .onDuplicateKeyUpdate({ created_at: sql`created_at` })
    .execute();
  return await tx
    .selectFrom('organisation_defaults')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .executeTakeFirstOrThrow();
}
