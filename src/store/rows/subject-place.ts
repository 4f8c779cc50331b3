/** Restricts statements about keys, workspaces and providers to what a caller may list, after the last row of a page. */
import { type RawBuilder, sql } from 'kysely';

/** Bounds what a caller may list, and says where the page begins. */
export interface SubjectPlace {
  readonly organisationId: string;
  /** Only resources of this workspace; undefined for all. */
  readonly workspaceId: string | undefined;
  /** Types of keys that the caller may list. */
  readonly keyTypes: readonly string[];
  /** Only keys of this user; undefined for all. */
  readonly userId: string | undefined;
  /** The last row of the page before; null for the first page. `at` is in milliseconds where a list is ordered by time. */
  readonly after: { readonly at: number; readonly id: string } | null;
  readonly limit: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface NamedSubject {
  readonly id: string;
  readonly name: string;
  /** Null for a key of the organisation. */
  readonly workspace_id: string | null;
}

/** Resources that a budget or requests belong to, with their tables. */
export const subjectTables = {
  api_key: 'api_keys',
  workspace: 'workspaces',
  provider: 'providers',
} as const;
export type SubjectKind = keyof typeof subjectTables;

/** The columns of {@link NamedSubject}, of the row `r`. */
export function subjectColumns(kind: SubjectKind): RawBuilder<unknown> {
  return sql`r.id, r.name, ${workspaceOf(kind)} AS workspace_id`;
}

/** Conditions on the row `r` of the kind's table. Keys that have expired serve nobody and are left out. */
export function isListed(kind: SubjectKind, place: SubjectPlace): RawBuilder<unknown> {
  const { organisationId, workspaceId, now } = place;
  const conditions = [sql`r.organisation_id = ${organisationId}`];
  if (workspaceId !== undefined) conditions.push(sql`${workspaceOf(kind)} = ${workspaceId}`);
  if (kind === 'api_key') {
    conditions.push(isListedKey(place));
    conditions.push(sql`r.status = 'active' AND COALESCE(r.expires_at > ${now}, TRUE)`);
  }
  return sql`(${sql.join(conditions, sql` AND `)})`;
}

/** The part of {@link isListed} that concerns who may list a key. */
export function isListedKey({ keyTypes, userId }: SubjectPlace): RawBuilder<unknown> {
  if (keyTypes.length === 0) return sql`FALSE`;
  const ofUser = userId === undefined ? sql`TRUE` : sql`r.user_id = ${userId}`;
  return sql`(r.type IN (${sql.join(keyTypes)}) AND ${ofUser})`;
}

function workspaceOf(kind: SubjectKind): RawBuilder<unknown> {
  return kind === 'workspace' ? sql`r.id` : sql`r.workspace_id`;
}
