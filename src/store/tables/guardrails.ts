/** Knows the guardrails table and guardrail_versions, which keeps what each guardrail once said. */
import type { Insertable, Selectable, Updateable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from './paging.ts';
import { readReference } from './references.ts';
import type { Versioned } from './versioned.ts';

export interface GuardrailRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  slug: string;
  name: string;
  target: 'llm' | 'mcp_tools';
  status: 'active' | 'archived';
  checks: string;
  actions: string | null;
  version_id: string;
  owner_id: string;
  updated_by: string;
}

export interface GuardrailVersionRow {
  id: string;
  guardrail_id: string;
  organisation_id: string;
  name: string;
  checks: string;
  actions: string | null;
  created_by: string;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    guardrails: GuardrailRow;
    guardrail_versions: GuardrailVersionRow;
  }
}

/** A guardrail as stored. */
export type StoredGuardrail = Selectable<GuardrailRow>;

/** Throws errno 1062 when the slug is taken. */
export async function insert(tx: Db, row: Insertable<GuardrailRow>): Promise<void> {
  await tx.insertInto('guardrails').values(row).execute();
}

export async function insertVersion(tx: Db, row: Insertable<GuardrailVersionRow>): Promise<void> {
  await tx.insertInto('guardrail_versions').values(row).execute();
}

export function findByIdOrSlug(
  db: Db,
  organisationId: string,
  reference: string,
): Promise<StoredGuardrail | undefined> {
  return byReference(db, organisationId, reference).executeTakeFirst();
}

export function findByIdOrSlugForUpdate(
  tx: Db,
  organisationId: string,
  reference: string,
): Promise<StoredGuardrail | undefined> {
  return byReference(tx, organisationId, reference).forUpdate().executeTakeFirst();
}

/** Those that exist of the named ones; none of them can be deleted until the transaction ends. */
export async function listByReferencesForShare(
  tx: Db,
  organisationId: string,
  references: readonly string[],
): Promise<Pick<StoredGuardrail, 'id' | 'slug' | 'workspace_id' | 'status'>[]> {
  const read = references.map(readReference);
  const valuesOf = (column: 'id' | 'slug'): string[] =>
    read.filter((reference) => reference.column === column).map(({ value }) => value);
  const [ids, slugs] = [valuesOf('id'), valuesOf('slug')];
  if (read.length === 0) return [];
  return (
    tx
      .selectFrom('guardrails')
      .select(['id', 'slug', 'workspace_id', 'status'])
      .where('organisation_id', '=', organisationId)
      .where((eb) =>
        eb.or([
          ...(ids.length === 0 ? [] : [eb('id', 'in', ids)]),
          ...(slugs.length === 0 ? [] : [eb('slug', 'in', slugs)]),
        ]),
      )
      // MariaDB knows this spelling only; MySQL knows it too.
      .modifyEnd(sql`lock in share mode`)
      .execute()
  );
}

export function list(
  db: Db,
  organisationId: string,
  filter: { readonly workspaceId?: string | undefined },
  page: Page,
): Promise<{ rows: StoredGuardrail[]; total: number }> {
  let query = db.selectFrom('guardrails').where('organisation_id', '=', organisationId);
  if (filter.workspaceId !== undefined) {
    query = query.where('workspace_id', '=', filter.workspaceId);
  }
  return listPage(query, page);
}

export function listAllForOrganisation(db: Db, organisationId: string): Promise<StoredGuardrail[]> {
  return db
    .selectFrom('guardrails')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/** Writes the given columns and counts the write. */
export async function update(
  tx: Db,
  organisationId: string,
  id: string,
  fields: Omit<Updateable<GuardrailRow>, 'id' | 'organisation_id' | 'version'>,
): Promise<void> {
  await tx
    .updateTable('guardrails')
    .set({ ...fields, version: sql`version + 1` })
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .execute();
}

/** Takes its versions with it. */
export async function deleteById(tx: Db, organisationId: string, id: string): Promise<void> {
  await tx
    .deleteFrom('guardrail_versions')
    .where('organisation_id', '=', organisationId)
    .where('guardrail_id', '=', id)
    .execute();
  await tx
    .deleteFrom('guardrails')
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .execute();
}

function byReference(db: Db, organisationId: string, text: string) {
  const { column, value } = readReference(text);
  return db
    .selectFrom('guardrails')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where(column, '=', value);
}
