/** Lists and deletes everything that a workspace owns in other tables. */
import { type RawBuilder, sql } from 'kysely';
import { type KindName, kinds } from '../../model/kinds/kinds.ts';
import type { Db } from '../connection/db.ts';
import { bytesOfId } from './portable-sql.ts';

/** A workspace that owns resources. */
export interface OwningWorkspace {
  readonly organisationId: string;
  readonly workspaceId: string;
}

/** How resources of one kind belong to workspaces. */
export interface WorkspaceContents {
  readonly kind: KindName;
  /** Condition on the rows of `table` that the workspace owns. */
  readonly held: (at: OwningWorkspace) => RawBuilder<unknown>;
  readonly table: string;
  /** Condition on rows that were created automatically and not changed or declared since; none when absent. */
  readonly automatic?: (at: OwningWorkspace) => RawBuilder<unknown>;
  /** Statements that delete them, dependents first. */
  readonly removal: (at: OwningWorkspace, now: number) => RawBuilder<unknown>[];
}

/** One resource of a workspace. */
export interface WorkspaceItem {
  readonly kind: KindName;
  readonly id: string;
  /** Whether it was created automatically and not changed or declared since. */
  readonly isAutomatic: boolean;
}

/** Contents in one table, deleted after the `dependents` in other tables. */
export function contentsOf(
  kind: KindName,
  table: string,
  dependents: (at: OwningWorkspace) => RawBuilder<unknown>[] = () => [],
): WorkspaceContents {
  return {
    kind,
    table,
    held,
    removal: (at) => [...dependents(at), sql`delete from ${sql.table(table)} where ${held(at)}`],
  };
}

/**
 * As {@link contentsOf}, for rows that stay as archived, as after a delete of their own. `ends` are
 * statements on the matching rows, executed before these are archived.
 */
export function archivedContentsOf(
  kind: KindName,
  table: string,
  ends: (rows: RawBuilder<unknown>, now: number) => RawBuilder<unknown>[] = () => [],
): WorkspaceContents {
  const active = (at: OwningWorkspace) => sql`${held(at)} and status = 'active'`;
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

/** Condition on the rows of a workspace. */
function held({ organisationId, workspaceId }: OwningWorkspace): RawBuilder<unknown> {
  return sql`organisation_id = ${organisationId} and workspace_id = ${workspaceId}`;
}

/** Subquery: ids of a workspace's rows in a table, as text. */
export function heldIds(table: string, at: OwningWorkspace): RawBuilder<unknown> {
  return sql`(select id from ${sql.table(table)} where ${held(at)})`;
}

/** As {@link heldIds}, as bytes. */
export function heldIdBytes(table: string, at: OwningWorkspace): RawBuilder<unknown> {
  return sql`(select ${bytesOfId(sql.ref('id'))} from ${sql.table(table)} where ${held(at)})`;
}

interface ContentRow extends Pick<WorkspaceItem, 'kind' | 'id'> {
  readonly automatic: 0 | 1;
}

const referencedKinds: ReadonlySet<KindName> = new Set(
  Object.values(kinds).flatMap(({ references }) => references.map(({ kind }) => kind)),
);

/**
 * Everything in the workspace that is not archived. Resources that others can refer to are locked, so that
 * no new reference can appear until the transaction ends. Locks are taken in the order of `contents`,
 * guardrails before servers, as the creation of a mapping takes them.
 */
export async function list(
  tx: Db,
  contents: readonly WorkspaceContents[],
  at: OwningWorkspace,
): Promise<WorkspaceItem[]> {
  for (const { kind, table, held: holds } of contents) {
    if (!referencedKinds.has(kind)) continue;
    await sql`select id from ${sql.table(table)} where ${holds(at)} for update`.execute(tx);
  }
  const parts = contents.flatMap(({ kind, table, held: holds, automatic }) => {
    const having = (mark: 0 | 1, condition: RawBuilder<unknown>) =>
      sql`select ${sql.lit(kind)} as kind, id, ${sql.lit(mark)} as automatic
        from ${sql.table(table)} where ${condition}`;
    if (automatic === undefined) return [having(0, holds(at))];
    return [
      having(0, sql`${holds(at)} and not (${automatic(at)})`),
      having(1, sql`${holds(at)} and ${automatic(at)}`),
    ];
  });
  const found = await sql<ContentRow>`${sql.join(parts, sql` union all `)}`.execute(tx);
  return found.rows.map(({ kind, id, automatic }) => ({ kind, id, isAutomatic: automatic === 1 }));
}

/** Deletes what {@link list} returns, in reverse order of `contents`, so that referring resources go first. */
export async function removeAll(
  tx: Db,
  contents: readonly WorkspaceContents[],
  at: OwningWorkspace,
  now: number,
): Promise<void> {
  for (const { removal } of contents.toReversed()) {
    for (const statement of removal(at, now)) await statement.execute(tx);
  }
}
