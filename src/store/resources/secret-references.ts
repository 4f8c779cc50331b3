/** Knows the secret_references table and secret_reference_workspaces, which says who may use one. Credentials are sealed before they come here. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { ManagerType } from '../../model/secrets/secret-manager.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from '../rows/paging.ts';
import { nameOrSlugContains, resourceTable, type RowCondition } from '../rows/resource-table.ts';
import * as snapshotMarks from '../rows/snapshot-marks.ts';
import type { Versioned } from '../rows/versioned.ts';
import type { WorkspaceContents } from '../rows/workspace-contents.ts';

interface SecretReferenceRow extends Versioned {
  id: string;
  organisation_id: string;
  slug: string;
  name: string;
  description: string | null;
  manager_type: ManagerType;
  auth_config: string;
  secret_path: string;
  secret_key: string | null;
  /** 0: those of secret_reference_workspaces only. */
  allow_all_workspaces: number;
  tags: string | null;
  created_by: string;
}

interface SecretReferenceWorkspaceRow {
  organisation_id: string;
  secret_reference_id: string;
  workspace_id: string;
}

declare module '../connection/db.ts' {
  interface Tables {
    secret_references: SecretReferenceRow;
    secret_reference_workspaces: SecretReferenceWorkspaceRow;
  }
}

/** A reference as stored. */
export type StoredSecretReference = Selectable<SecretReferenceRow>;

/** A reference with the ids of the workspaces that may use it, where not all may. */
export interface PlacedSecretReference extends StoredSecretReference {
  readonly workspaceIds: readonly string[];
}

const table = resourceTable('secret_references');

export const { insert, findByIdOrSlugForUpdate, listByReferencesForShare, listByIds, update } =
  table;

/** No workspace holds one: with a workspace goes what is said of it. */
export const contents: WorkspaceContents = {
  kind: 'SecretReference',
  table: 'secret_references',
  held: ({ organisationId }) => sql`organisation_id = ${organisationId} and 1 = 0`,
  removal: ({ organisationId, workspaceId }) => [
    sql`delete from secret_reference_workspaces
      where organisation_id = ${organisationId} and workspace_id = ${workspaceId}`,
  ],
};

export async function findByIdOrSlug(
  db: Db,
  organisationId: string,
  reference: string,
): Promise<PlacedSecretReference | undefined> {
  const row = await table.findByIdOrSlug(db, organisationId, reference);
  if (row === undefined) return undefined;
  const [placed] = await withWorkspaces(db, organisationId, [row]);
  return placed;
}

/** Oldest first; `which` leaves some out. */
export async function listAllForOrganisation(
  db: Db,
  organisationId: string,
  which: RowCondition | null = null,
): Promise<PlacedSecretReference[]> {
  const rows = await table.listAllForOrganisation(db, organisationId, which);
  return withWorkspaces(db, organisationId, rows);
}

/** Each with the workspaces that may use it. */
export async function withWorkspaces(
  db: Db,
  organisationId: string,
  rows: readonly StoredSecretReference[],
): Promise<PlacedSecretReference[]> {
  const limited = rows.filter((row) => row.allow_all_workspaces === 0).map(({ id }) => id);
  const allowed =
    limited.length === 0
      ? []
      : await db
          .selectFrom('secret_reference_workspaces')
          .select(['secret_reference_id', 'workspace_id'])
          .where('organisation_id', '=', organisationId)
          .where('secret_reference_id', 'in', limited)
          .orderBy('workspace_id')
          .execute();
  const byReference = Map.groupBy(allowed, ({ secret_reference_id: id }) => id);
  return rows.map((row) => ({
    ...row,
    workspaceIds: (byReference.get(row.id) ?? []).map(({ workspace_id: id }) => id),
  }));
}

/** Puts others in the place of the workspaces that may use one. */
export async function replaceWorkspaces(
  tx: Db,
  organisationId: string,
  id: string,
  workspaceIds: readonly string[],
): Promise<void> {
  snapshotMarks.replaceOne(tx, organisationId);
  await tx
    .deleteFrom('secret_reference_workspaces')
    .where('organisation_id', '=', organisationId)
    .where('secret_reference_id', '=', id)
    .execute();
  if (workspaceIds.length === 0) return;
  const rows = workspaceIds.map((workspaceId) => ({
    organisation_id: organisationId,
    secret_reference_id: id,
    workspace_id: workspaceId,
  }));
  await tx.insertInto('secret_reference_workspaces').values(rows).execute();
}

/** With what it says of workspaces. */
export async function deleteById(tx: Db, organisationId: string, id: string): Promise<void> {
  await replaceWorkspaces(tx, organisationId, id, []);
  await table.deleteById(tx, organisationId, id);
}

/** What lists show. */
const listed = [
  ...(['id', 'organisation_id', 'slug', 'name', 'description', 'manager_type'] as const),
  ...(['secret_key', 'allow_all_workspaces', 'tags', 'created_by'] as const),
  ...(['version', 'created_at', 'last_updated_at'] as const),
];

export type ListedSecretReference = Pick<StoredSecretReference, (typeof listed)[number]>;

export interface SecretReferenceFilter {
  readonly managerType?: ManagerType | undefined;
  /** Each of them has to be there. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** Part of the name or slug, in any case. */
  readonly search?: string | undefined;
  /** Those that this one may use. */
  readonly usableIn?: string | undefined;
}

/** One page, newest first. */
export function list(
  db: Db,
  organisationId: string,
  { managerType, tags, search, usableIn }: SecretReferenceFilter,
  page: Page,
): Promise<{ rows: ListedSecretReference[]; total: number }> {
  let query = db.selectFrom('secret_references').where('organisation_id', '=', organisationId);
  if (managerType !== undefined) query = query.where('manager_type', '=', managerType);
  if (search !== undefined) query = query.where(nameOrSlugContains(search));
  if (tags !== undefined) {
    query = query.where(sql<boolean>`json_contains(tags, ${JSON.stringify(tags)})`);
  }
  if (usableIn !== undefined) {
    query = query.where(sql<boolean>`(allow_all_workspaces = 1 or id in (
      select secret_reference_id from secret_reference_workspaces
      where organisation_id = ${organisationId} and workspace_id = ${usableIn}))`);
  }
  return listPage(
    { db, stamp: snapshotMarks.stampOf('secret_references', organisationId) },
    query,
    page,
    listed,
  );
}

/** An integration of either kind whose secret mappings name the reference, if there is one. */
export async function findUser(
  tx: Db,
  organisationId: string,
  id: string,
): Promise<{ readonly table: 'integrations' | 'mcp_integrations'; slug: string } | undefined> {
  // As the mappings are written (model/secrets/secret-mapping.ts): nothing that a caller sends looks like it.
  const named = JSON.stringify({ reference_id: id }).slice(1, -1);
  for (const table of ['integrations', 'mcp_integrations'] as const) {
    const found = await tx
      .selectFrom(table)
      .select('slug')
      .where('organisation_id', '=', organisationId)
      .where(sql<boolean>`locate(${named}, secret_mappings) > 0`)
      .limit(1)
      .executeTakeFirst();
    if (found !== undefined) return { table, slug: found.slug };
  }
  return undefined;
}
