/** Knows the access_policies table: which principal holds which role on which TSG or workspace. */
import type { Db } from '../connection/db.ts';

export interface AccessPolicyRow {
  id: string;
  tsg_id: string;
  principal: string;
  resource: string;
  role: string;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    access_policies: AccessPolicyRow;
  }
}

/** Throws errno 1062 when the same principal, resource and role exist already. */
export async function insert(tx: Db, row: AccessPolicyRow): Promise<void> {
  await tx.insertInto('access_policies').values(row).execute();
}

/** Policies whose resource belongs to the TSG, oldest first. */
export function listByTsg(db: Db, tsgId: string): Promise<AccessPolicyRow[]> {
  return db
    .selectFrom('access_policies')
    .selectAll()
    .where('tsg_id', '=', tsgId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/** What a principal was granted, in every TSG: the caller keeps what applies to the one in question. */
export function listByPrincipal(db: Db, principal: string): Promise<AccessPolicyRow[]> {
  return db
    .selectFrom('access_policies')
    .selectAll()
    .where('principal', '=', principal)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/** True when the TSG had such a policy. */
export async function deleteById(tx: Db, tsgId: string, id: string): Promise<boolean> {
  const result = await tx
    .deleteFrom('access_policies')
    .where('tsg_id', '=', tsgId)
    .where('id', '=', id)
    .executeTakeFirst();
  return result.numDeletedRows > 0n;
}
