/** Table functions for access_policies: the roles of principals on TSGs and workspaces. */
import type { Db } from '../connection/db.ts';
import { rows } from '../rows/rows.ts';

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

const table = rows('access_policies');

/** Throws errno 1062 when the principal already has this role on this resource. */
export const { insert } = table;

/** Policies on resources of the TSG, oldest first. */
export const listByTsg = table.listBy(['tsg_id'], { orderBy: ['created_at', 'id'] });

/** Policies of a principal in every TSG; the caller selects those that apply. */
export const listByPrincipal = table.listBy(['principal'], { orderBy: ['created_at', 'id'] });

/** Locks the policy until the transaction ends. */
export const findForUpdate = table.findByForUpdate('tsg_id', 'id');

/** Returns whether the TSG had the policy. */
export async function deleteById(tx: Db, tsgId: string, id: string): Promise<boolean> {
  return (await table.delete(tx, { tsg_id: tsgId, id })) > 0;
}

/** Policies of these principals on resources of the TSG, oldest first. */
export const listByTsgAndPrincipals = table.listBy(['tsg_id', 'principal'], {
  orderBy: ['created_at', 'id'],
});

/** Deletes all policies on resources of the TSG. */
export const deleteByTsg = table.deleteBy('tsg_id');
