/** Removes the default flag from resources when another one becomes the default. */
import { sql } from 'kysely';
import type { KindName } from '../../model/kinds/kinds.ts';
import type { Db } from '../connection/db.ts';
import { rows } from './rows.ts';

const managedResources = rows('managed_resources');

interface ReplacedDefaults {
  readonly table: 'configs' | 'gateway_deployments';
  readonly kind: KindName;
  readonly organisationId: string;
  /** Ids of the resources that are the default now. */
  readonly ids: readonly string[];
  /** Owner of the new default; null when no manifest declares it. */
  readonly owner: string | null;
}

/**
 * Increments the version of each resource, except when the same owner declares it: the owner's run
 * changes both, in any order, and must not see a version conflict. The caller holds the lock on the
 * workspace or organisation.
 */
export async function removeDefaultFlag(
  tx: Db,
  { table, kind, organisationId, ids, owner }: ReplacedDefaults,
): Promise<void> {
  if (ids.length === 0) return;
  const claims = await managedResources.list(
    tx,
    { organisation_id: organisationId, kind, resource_id: ids, owner: owner ?? '' },
    { columns: ['resource_id'] },
  );
  const owned = new Set(claims.map(({ resource_id: id }) => id));
  for (const id of ids) {
    const increment = owned.has(id) ? sql`` : sql`, version = version + 1`;
    await sql`update ${sql.table(table)} set is_default = 0${increment}
      where organisation_id = ${organisationId} and id = ${id}`.execute(tx);
  }
}
