/** Knows how resources stop being the default of their place because another is it now. */
import { sql } from 'kysely';
import type { KindName } from '../../model/kinds/kinds.ts';
import type { Db } from '../connection/db.ts';

interface GivingUp {
  readonly table: 'configs' | 'gateway_deployments';
  readonly kind: KindName;
  readonly organisationId: string;
  /** Of those that are the default, and of no other. */
  readonly ids: readonly string[];
  /** Who declares the one that is it now; null for nobody. */
  readonly owner: string | null;
}

/**
 * That is a change of each and raises its version, save where one owner declares both: its run has
 * changes of both under way, which contradict nothing and come in any order. The place is held by who asks.
 */
export async function giveUpDefaults(
  tx: Db,
  { table, kind, organisationId, ids, owner }: GivingUp,
): Promise<void> {
  if (ids.length === 0) return;
  const claims = await tx
    .selectFrom('managed_resources')
    .select('resource_id')
    .where('organisation_id', '=', organisationId)
    .where('kind', '=', kind)
    .where('resource_id', 'in', ids)
    .where('owner', '=', owner ?? '')
    .execute();
  const owned = new Set(claims.map(({ resource_id: id }) => id));
  for (const id of ids) {
    const raised = owned.has(id) ? sql`` : sql`, version = version + 1`;
    await sql`update ${sql.table(table)} set is_default = 0${raised}
      where organisation_id = ${organisationId} and id = ${id}`.execute(tx);
  }
}
