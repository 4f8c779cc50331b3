/** Knows the managed_resources table: which resources are declared in manifests, and by whom. */
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { statement } from '../connection/statement.ts';
import { unlessDuplicate } from '../rows/duplicate.ts';
import { readReference } from '../rows/references.ts';
import * as snapshotMarks from '../rows/snapshot-marks.ts';

export interface ManagedResourceRow {
  kind: string;
  resource_id: string;
  organisation_id: string;
  workspace: string;
  name: string;
  owner: string;
  /** Id of the caller who wrote the claim last. */
  recorded_by: string;
  source: string;
  last_applied: string;
  updated_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    managed_resources: ManagedResourceRow;
  }
}

/** Locks the row, so that two owners cannot take a resource over at once. */
export async function findForUpdate(
  tx: Db,
  organisationId: string,
  kind: string,
  resourceId: string,
): Promise<ManagedResourceRow | undefined> {
  return byResourceForUpdate.first(tx, { organisationId, kind, resourceId });
}

const byResourceForUpdate = statement(
  (tx, at: { organisationId: string; kind: string; resourceId: string }) =>
    tx
      .selectFrom('managed_resources')
      .selectAll()
      .where('organisation_id', '=', at.organisationId)
      .where('kind', '=', at.kind)
      .where('resource_id', '=', at.resourceId)
      .forUpdate(),
);

/** `workspace` is '' for a resource of the organisation. */
export async function findByIdentity(
  db: Db,
  organisationId: string,
  identity: Pick<ManagedResourceRow, 'kind' | 'workspace' | 'name'>,
): Promise<ManagedResourceRow | undefined> {
  return db
    .selectFrom('managed_resources')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('kind', '=', identity.kind)
    .where('workspace', '=', identity.workspace)
    .where('name', '=', identity.name)
    .executeTakeFirst();
}

/** Whether the owner has a workspace of this name, or anything in one. */
export async function ownsWithin(
  db: Db,
  organisationId: string,
  owner: string,
  workspace: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('managed_resources')
    .select('resource_id')
    .where('organisation_id', '=', organisationId)
    .where('owner', '=', owner)
    .where((is) =>
      is.or([
        is('workspace', '=', workspace),
        is.and([is('kind', '=', 'Workspace'), is('name', '=', workspace)]),
      ]),
    )
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** False when the identity, or the resource, is already claimed. */
export async function insertUnlessClaimed(tx: Db, row: ManagedResourceRow): Promise<boolean> {
  snapshotMarks.replaceOne(tx, row.organisation_id);
  return unlessDuplicate(tx.insertInto('managed_resources').values(row).execute());
}

/** Replaces owner, identity, source and base of a resource; false when the identity is claimed. */
export async function updateUnlessClaimed(tx: Db, row: ManagedResourceRow): Promise<boolean> {
  const { kind, resource_id, organisation_id, ...fields } = row;
  snapshotMarks.replaceOne(tx, organisation_id);
  return unlessDuplicate(
    tx
      .updateTable('managed_resources')
      .set(fields)
      .where('organisation_id', '=', organisation_id)
      .where('kind', '=', kind)
      .where('resource_id', '=', resource_id)
      .execute(),
  );
}

/** For an installation whose credential was lost: what the owner's old one recorded is the new one's. */
export async function updateRecorder(
  tx: Db,
  organisationId: string,
  owner: string,
  recordedBy: string,
): Promise<void> {
  snapshotMarks.replaceOne(tx, organisationId);
  await tx
    .updateTable('managed_resources')
    .set({ recorded_by: recordedBy })
    .where('organisation_id', '=', organisationId)
    .where('owner', '=', owner)
    .execute();
}

export async function deleteByResource(
  tx: Db,
  organisationId: string,
  kind: string,
  resourceId: string,
): Promise<void> {
  snapshotMarks.replaceOne(tx, organisationId);
  await tx
    .deleteFrom('managed_resources')
    .where('organisation_id', '=', organisationId)
    .where('kind', '=', kind)
    .where('resource_id', '=', resourceId)
    .execute();
}

/** For resources that go with another one. */
export async function deleteByResources(
  tx: Db,
  organisationId: string,
  kind: string,
  resourceIds: readonly string[],
): Promise<void> {
  if (resourceIds.length === 0) return;
  snapshotMarks.replaceOne(tx, organisationId);
  await tx
    .deleteFrom('managed_resources')
    .where('organisation_id', '=', organisationId)
    .where('kind', '=', kind)
    .where('resource_id', 'in', resourceIds)
    .execute();
}

/** What is seen of an organisation: what one owner and nobody has declared, and others' that are named. */
export interface OwnPart {
  readonly owner: string;
  /** Ids and slugs. */
  readonly named: readonly string[];
}

/** Leaves out of the rows of one kind what other owners have declared and nobody has named. */
export function seenOf(
  kind: string,
  { owner, named }: OwnPart,
): (table: string, hasSlug: boolean) => RawBuilder<boolean> {
  return (table, hasSlug) => {
    const at = (column: string) => sql.ref(`${table}.${column}`);
    const { id: ids = [], slug: slugs = [] } = Object.groupBy(
      named.map(readReference).filter(({ value }) => value !== ''),
      ({ column }) => column,
    );
    const isNamed = [
      ...ids.map(({ value }) => sql`${at('id')} = ${value}`),
      ...(hasSlug ? slugs.map(({ value }) => sql`${at('slug')} = ${value}`) : []),
    ];
    const isOfNoOther = sql`NOT EXISTS (${claimsOf(kind, table)} AND claim.owner <> ${owner})`;
    return sql<boolean>`(${sql.join([isOfNoOther, ...isNamed], sql` OR `)})`;
  };
}

/** Whether a manifest declares a row of a table. */
export function isDeclared(kind: string, table: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`EXISTS (${claimsOf(kind, table)})`;
}

/** One for a row that is declared as this kind, and none for any other. */
function claimsOf(kind: string, table: string): RawBuilder<unknown> {
  const at = (column: string) => sql.ref(`${table}.${column}`);
  return sql`SELECT 1 FROM managed_resources AS claim
    WHERE claim.organisation_id = ${at('organisation_id')} AND claim.kind = ${kind}
    AND claim.resource_id = ${at('id')}`;
}

/** Claims of an organisation; with `part` those of its owner, of workspaces, and of these ids. */
export function listForSnapshot(
  db: Db,
  organisationId: string,
  part: OwnPart | null,
  ids: readonly string[],
): Promise<ManagedResourceRow[]> {
  return db
    .selectFrom('managed_resources')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .$if(part !== null, (claims) =>
      claims.where((is) =>
        is.or([
          is('owner', '=', part!.owner),
          is('kind', '=', 'Workspace'),
          ...(ids.length === 0 ? [] : [is('resource_id', 'in', ids)]),
        ]),
      ),
    )
    .execute();
}
