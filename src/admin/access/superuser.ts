/** Finds out whether the caller is a service account with the role superuser. */
import { findRoleGrants } from '../../auth/grants.ts';
import type { Principal } from '../../auth/principal.ts';
import { superuserRole } from '../../model/people/service-account.ts';
import type { Db } from '../../store/connection/db.ts';
import * as serviceAccounts from '../../store/people/service-accounts.ts';

/** False for an account whose other roles give every scope. */
export async function isSuperuser(db: Db, caller: Principal): Promise<boolean> {
  if (caller.kind !== 'service-account') return false;
  const account = await serviceAccounts.findById(db, caller.id);
  if (account === undefined) return false;
  const { name, tsg_id: tsgId } = account;
  return (await findRoleGrants(db, { name, tsgId }, caller.tsgId)).roles.includes(superuserRole);
}
