/** Knows how a workspace's contents in other tables are found, and how all of it goes at once. */
import { type RawBuilder, sql } from 'kysely';
import { type KindName, kinds } from '../../model/kinds/kinds.ts';
import type { Db } from '../connection/db.ts';
import { bytesOfId } from './portable-sql.ts';

/** A workspace, as the one that holds. */
export interface Place {
  readonly organisationId: string;
  readonly workspaceId: string;
}

/** How workspaces hold resources of one kind. */
export interface WorkspaceContents {
  readonly kind: KindName;
  /** Condition on the rows of its table that the workspace holds. */
  readonly held: (at: Place) => RawBuilder<unknown>;
  readonly table: string;
  /** Condition on those of them that came by themselves, and that nobody made their own since; none when absent. */
  readonly unasked?: (at: Place) => RawBuilder<unknown>;
  /** Statements that take them away, what depends on them first. */
  readonly removal: (at: Place, now: number) => RawBuilder<unknown>[];
}

/** One resource of a workspace. */
export interface WorkspaceItem {
  readonly kind: KindName;
  readonly id: string;
  /** Whether it came by itself, and nobody made it their own since. */
  readonly isUnasked: boolean;
}

/** Rows of the table itself, deleted after what `dependents` of them are in other tables. */
export function contentsOf(
  kind: KindName,
  table: string,
  dependents: (at: Place) => RawBuilder<unknown>[] = () => [],
): WorkspaceContents {
  return {
    kind,
    table,
    held,
    removal: (at) => [...dependents(at), sql`delete from ${sql.table(table)} where ${held(at)}`],
  };
}

/**
 * As {@link contentsOf}, for rows that stay as archived, as after a delete of their own; `ends` are
 * statements about the rows that a condition finds, before it finds them no more.
 */
export function archivedContentsOf(
  kind: KindName,
  table: string,
  ends: (rows: RawBuilder<unknown>, now: number) => RawBuilder<unknown>[] = () => [],
): WorkspaceContents {
  const active = (at: Place) => sql`${held(at)} and status = 'active'`;
  return {
    kind,
    table,
    held: active,
    removal: (at, now) => [
      ...ends(active(at), now),
      sql`update ${sql.table(table)}
        set status = 'archived', version = version + 1, last_updated_at = ${now}
        where ${active(at)}`,
    ],
  };
}

/** Condition on rows with a workspace of their own. */
function held({ organisationId, workspaceId }: Place): RawBuilder<unknown> {
  return sql`organisation_id = ${organisationId} and workspace_id = ${workspaceId}`;
}

/** Ids of the rows of a table that a workspace holds, as text. */
export function heldIds(table: string, at: Place): RawBuilder<unknown> {
  return sql`(select id from ${sql.table(table)} where ${held(at)})`;
}

/** As {@link heldIds}, in bytes. */
export function heldIdBytes(table: string, at: Place): RawBuilder<unknown> {
  return sql`(select ${bytesOfId(sql.ref('id'))} from ${sql.table(table)} where ${held(at)})`;
}

interface Found extends Pick<WorkspaceItem, 'kind' | 'id'> {
  readonly unasked: 0 | 1;
}

const referredTo: ReadonlySet<KindName> = new Set(
  Object.values(kinds).flatMap(({ references }) => references.map(({ kind }) => kind)),
);

/**
 * Everything of the workspace that is not archived. Nothing can come to refer to any of it until the
 * transaction ends: whoever was about to has finished, or will find it gone. What is referred to is
 * locked in the order of `contents`, guardrails before servers as a mapping's author locks them.
 */
export async function list(
  tx: Db,
  contents: readonly WorkspaceContents[],
  at: Place,
): Promise<WorkspaceItem[]> {
  for (const { kind, table, held: holds } of contents) {
    if (!referredTo.has(kind)) continue;
    await sql`select id from ${sql.table(table)} where ${holds(at)} for update`.execute(tx);
  }
  const parts = contents.flatMap(({ kind, table, held: holds, unasked }) => {
    const having = (mark: 0 | 1, condition: RawBuilder<unknown>) =>
      sql`select ${sql.lit(kind)} as kind, id, ${sql.lit(mark)} as unasked
        from ${sql.table(table)} where ${condition}`;
    if (unasked === undefined) return [having(0, holds(at))];
    return [
      having(0, sql`${holds(at)} and not (${unasked(at)})`),
      having(1, sql`${holds(at)} and ${unasked(at)}`),
    ];
  });
  const found = await sql<Found>`${sql.join(parts, sql` union all `)}`.execute(tx);
  return found.rows.map(({ kind, id, unasked }) => ({ kind, id, isUnasked: unasked === 1 }));
}

/** Takes away what {@link list} yields: last of `contents` first, so that what refers goes first. */
export async function removeAll(
  tx: Db,
  contents: readonly WorkspaceContents[],
  at: Place,
  now: number,
): Promise<void> {
  for (const { removal } of contents.toReversed()) {
    for (const statement of removal(at, now)) await statement.execute(tx);
  }
}
