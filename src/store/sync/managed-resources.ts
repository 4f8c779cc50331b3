/** Table functions for managed_resources: the resources that manifests declare, and their owners. */
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { unlessDuplicate } from '../rows/duplicate.ts';
import { readReference } from '../rows/references.ts';
import { rows } from '../rows/rows.ts';
import * as snapshotMarks from '../rows/snapshot-marks.ts';

export interface ManagedResourceRow {
  kind: string;
  resource_id: string;
  organisation_id: string;
  workspace: string;
  name: string;
  owner: string;
  /** Id of the caller who last wrote the claim. */
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

const table = rows('managed_resources', { marks: snapshotMarks });

/** Locks the row, so that two owners cannot take over a resource at once. */
export const findForUpdate = table.findByForUpdate('organisation_id', 'kind', 'resource_id');

/** `workspace` is '' for a resource of the organisation. */
export function findByIdentity(
  db: Db,
  organisationId: string,
  { kind, workspace, name }: Pick<ManagedResourceRow, 'kind' | 'workspace' | 'name'>,
): Promise<ManagedResourceRow | undefined> {
  return table.find(db, { organisation_id: organisationId, kind, workspace, name });
}

/** Whether the owner declares a workspace of this name, or any resource in it. */
export async function ownsWithin(
  db: Db,
  organisationId: string,
  owner: string,
  workspace: string,
): Promise<boolean> {
  const row = await table
    .matching(db, { organisation_id: organisationId, owner })
    .select('resource_id')
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

/** Returns false when the identity or the resource is already claimed. */
export function insertUnlessClaimed(tx: Db, row: ManagedResourceRow): Promise<boolean> {
  return unlessDuplicate(table.insert(tx, row));
}

/** Replaces owner, identity, source and base of a resource; returns false when the identity is claimed. */
export function updateUnlessClaimed(tx: Db, row: ManagedResourceRow): Promise<boolean> {
  const { kind, resource_id, organisation_id, ...fields } = row;
  return unlessDuplicate(table.update(tx, { organisation_id, kind, resource_id }, fields));
}

/** The manifest of a resource, without what was applied from it. */
export type DeclaredPlace = Pick<
  ManagedResourceRow,
  'resource_id' | 'owner' | 'workspace' | 'name' | 'source'
>;

/** The manifests of those of these resources that have one. */
export function listPlaces(
  db: Db,
  organisationId: string,
  kind: string,
  ids: readonly string[],
): Promise<DeclaredPlace[]> {
  if (ids.length === 0) return Promise.resolve([]);
  return table
    .matching(db, { organisation_id: organisationId, kind })
    .where('resource_id', 'in', [...ids])
    .select(['resource_id', 'owner', 'workspace', 'name', 'source'])
    .execute();
}

/** Assigns an owner's claims to a new credential, after the old one was lost. */
export async function updateRecorder(
  tx: Db,
  organisationId: string,
  owner: string,
  recordedBy: string,
): Promise<void> {
  await table.update(tx, { organisation_id: organisationId, owner }, { recorded_by: recordedBy });
}

/** Takes one id, or several of resources that are deleted together with another one. */
export const deleteByResource = table.deleteBy('organisation_id', 'kind', 'resource_id');

/** Other resources refer to them by id or slug, so every view contains all of them. */
export const kindsInEveryView: ReadonlySet<string> = new Set(['Workspace', 'Provider']);

/** The part of an organisation that one owner sees: its own resources, undeclared ones, and named ones. */
export interface OwnerView {
  readonly owner: string;
  /** Ids and slugs. */
  readonly named: readonly string[];
}

/** Excludes from the rows of one kind those that other owners declare, unless they are named. */
export function visibleTo(
  kind: string,
  { owner, named }: OwnerView,
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
    const isUnclaimedByOthers = sql`NOT EXISTS (${claimsOf(kind, table)} AND claim.owner <> ${owner})`;
    return sql<boolean>`(${sql.join([isUnclaimedByOthers, ...isNamed], sql` OR `)})`;
  };
}

/** Whether a manifest declares the row of a table as a resource of this kind. */
export function isDeclared(kind: string, table: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`EXISTS (${claimsOf(kind, table)})`;
}

/** Selects at most one claim for a row of a table. */
function claimsOf(kind: string, table: string): RawBuilder<unknown> {
  const at = (column: string) => sql.ref(`${table}.${column}`);
  return sql`SELECT 1 FROM managed_resources AS claim
    WHERE claim.organisation_id = ${at('organisation_id')} AND claim.kind = ${kind}
    AND claim.resource_id = ${at('id')}`;
}

/** Claims of an organisation; with a view, the claims of its owner, of kinds in every view, and of these ids. */
export function listForSnapshot(
  db: Db,
  organisationId: string,
  view: OwnerView | null,
  ids: readonly string[],
): Promise<ManagedResourceRow[]> {
  return table
    .matching(db, { organisation_id: organisationId })
    .selectAll()
    .$if(view !== null, (claims) =>
      claims.where((is) =>
        is.or([
          is('owner', '=', view!.owner),
          is('kind', 'in', [...kindsInEveryView]),
          ...(ids.length === 0 ? [] : [is('resource_id', 'in', ids)]),
        ]),
      ),
    )
    .execute();
}
