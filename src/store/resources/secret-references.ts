/** Table functions for secret_references and secret_reference_workspaces. Callers seal credentials before storing them. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { ManagerType } from '../../model/secrets/secret-manager.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from '../rows/paging.ts';
import { nameOrSlugContains, type RowCondition, resourceTable } from '../rows/resource-table.ts';
import { rows } from '../rows/rows.ts';
import * as snapshotMarks from '../rows/snapshot-marks.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import type { WorkspaceContents } from '../rows/workspace-contents.ts';

interface SecretReferenceRow extends VersionColumns {
  id: string;
  organisation_id: string;
  slug: string;
  name: string;
  description: string | null;
  manager_type: ManagerType;
  auth_config: string;
  secret_path: string;
  secret_key: string | null;
  /** 0 restricts it to the workspaces of secret_reference_workspaces. */
  allow_all_workspaces: number;
  /** JSON list; null in rows of builds that did not know it. */
  allowed_hosts: string | null;
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

/** A reference with the ids of the workspaces that may use it; empty when all may. */
export interface SecretReferenceWithWorkspaces extends StoredSecretReference {
  readonly workspaceIds: readonly string[];
}

/** The parts of a reference that are needed to read its value. */
export type ReadableReference = Omit<SecretReferenceWithWorkspaces, 'description'>;

const table = resourceTable('secret_references');
const permissions = rows('secret_reference_workspaces', { marks: snapshotMarks });

export const { insert, findByIdOrSlugForUpdate, listByReferencesForShare, listByIds, update } =
  table;

/** Workspaces own no references; deleting a workspace deletes its permissions to use them. */
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
): Promise<SecretReferenceWithWorkspaces | undefined> {
  const row = await table.findByIdOrSlug(db, organisationId, reference);
  if (row === undefined) return undefined;
  const [placed] = await withWorkspaces(db, organisationId, [row]);
  return placed;
}

/** Oldest first; `condition` selects a part of them. */
export async function listAllForOrganisation(
  db: Db,
  organisationId: string,
  condition: RowCondition | null = null,
): Promise<SecretReferenceWithWorkspaces[]> {
  const found = await table.listAllForOrganisation(db, organisationId, condition);
  return withWorkspaces(db, organisationId, found);
}

/** Adds the workspaces that may use each reference. */
export async function withWorkspaces(
  db: Db,
  organisationId: string,
  references: readonly StoredSecretReference[],
): Promise<SecretReferenceWithWorkspaces[]> {
  const limited = references.filter((row) => row.allow_all_workspaces === 0).map(({ id }) => id);
  const allowed = await permissions.list(
    db,
    { organisation_id: organisationId, secret_reference_id: limited },
    { columns: ['secret_reference_id', 'workspace_id'], orderBy: ['workspace_id'] },
  );
  const byReference = Map.groupBy(allowed, ({ secret_reference_id: id }) => id);
  return references.map((row) => ({
    ...row,
    workspaceIds: (byReference.get(row.id) ?? []).map(({ workspace_id: id }) => id),
  }));
}

/** Replaces the workspaces that may use a reference. */
export async function replaceWorkspaces(
  tx: Db,
  organisationId: string,
  id: string,
  workspaceIds: readonly string[],
): Promise<void> {
  await permissions.delete(tx, { organisation_id: organisationId, secret_reference_id: id });
  await permissions.insertMany(
    tx,
    workspaceIds.map((workspaceId) => ({
      organisation_id: organisationId,
      secret_reference_id: id,
      workspace_id: workspaceId,
    })),
  );
}

/** Deletes a reference with its permissions. */
export async function deleteById(tx: Db, organisationId: string, id: string): Promise<void> {
  await replaceWorkspaces(tx, organisationId, id, []);
  await table.deleteById(tx, organisationId, id);
}

/** Columns of list items. */
const listedColumns = [
  'id',
  'organisation_id',
  'slug',
  'name',
  'description',
  'manager_type',
  'secret_key',
  'allow_all_workspaces',
  'tags',
  'created_by',
  'version',
  'created_at',
  'last_updated_at',
] as const;

export type ListedSecretReference = Pick<StoredSecretReference, (typeof listedColumns)[number]>;

export interface SecretReferenceFilter {
  readonly managerType?: ManagerType | undefined;
  /** All of them must match. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** Part of the name or slug, in any case. */
  readonly search?: string | undefined;
  /** Id of a workspace that may use them. */
  readonly usableIn?: string | undefined;
}

/** One page, newest first. */
export function list(
  db: Db,
  organisationId: string,
  { managerType, tags, search, usableIn }: SecretReferenceFilter,
  page: Page,
): Promise<{ rows: ListedSecretReference[]; total: number }> {
  let query = table.rows.matching(db, {
    organisation_id: organisationId,
    manager_type: managerType,
  });
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
    listedColumns,
  );
}

/** Any integration of either kind whose secret mappings name the reference. */
export async function findUser(
  tx: Db,
  organisationId: string,
  id: string,
): Promise<{ readonly table: 'integrations' | 'mcp_integrations'; slug: string } | undefined> {
  // The serialised form of a mapping (model/secrets/secret-mapping.ts), which no other text of a caller can equal.
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
