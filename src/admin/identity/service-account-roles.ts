/** Reads and writes the roles of service accounts, which are access policies on their tenant or workspace. */
import {
  formatResource,
  parseResource,
  serviceAccountPrincipal,
} from '../../model/people/access-policy.ts';
import { newId } from '../../model/wire/ids.ts';
import type { Db } from '../../store/connection/db.ts';
import type { AccessPolicyRow } from '../../store/people/access-policies.ts';
import * as accessPolicies from '../../store/people/access-policies.ts';
import type { StoredServiceAccountProfile } from '../../store/people/service-account-profiles.ts';
import { type Author, auditChange } from '../request/change.ts';
import type { AdminDeps } from '../request/deps.ts';

type Account = Pick<StoredServiceAccountProfile, 'name' | 'workspace_id'>;

/** The roles of each account in its own place, by name; those that policies give elsewhere are left out. */
export async function rolesByName(
  db: Db,
  tsgId: string,
  accounts: readonly Account[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const principals = accounts.map(({ name }) => serviceAccountPrincipal(name, tsgId));
  const policies =
    principals.length === 0
      ? []
      : await accessPolicies.listByTsgAndPrincipals(db, tsgId, principals);
  const byPrincipal = Map.groupBy(policies, ({ principal }) => principal);
  return new Map(
    accounts.map((account) => {
      const own = byPrincipal.get(serviceAccountPrincipal(account.name, tsgId)) ?? [];
      return [account.name, own.filter((policy) => isOf(account, policy)).map(({ role }) => role)];
    }),
  );
}

function isOf({ workspace_id: workspaceId }: Account, { resource }: AccessPolicyRow): boolean {
  return parseResource(resource)?.workspace === workspaceId;
}

/** Makes these the roles of the account in its own place; writes one audit row for each change. */
export async function writeRoles(
  tx: Db,
  deps: Pick<AdminDeps, 'audit'>,
  author: Author,
  account: Account,
  roles: readonly string[],
): Promise<void> {
  const { tsgId } = author.caller;
  const principal = serviceAccountPrincipal(account.name, tsgId);
  const stored = await accessPolicies.listByTsgAndPrincipals(tx, tsgId, [principal]);
  const current = stored.filter((policy) => isOf(account, policy));
  for (const policy of current) {
    if (!roles.includes(policy.role)) await removePolicy(tx, deps, author, account, policy);
  }
  const resource = formatResource(tsgId, account.workspace_id);
  for (const role of roles) {
    if (current.some((policy) => policy.role === role)) continue;
    const id = newId();
    const policy = { principal, resource, role };
    await accessPolicies.insert(tx, { id, tsg_id: tsgId, ...policy, created_at: author.now });
    await auditPolicy(tx, deps, author, account, { id, action: 'create', changes: policy });
  }
}

/** Deletes every policy of the account on resources of its own tenant. */
export async function removeAllRoles(
  tx: Db,
  deps: Pick<AdminDeps, 'audit'>,
  author: Author,
  account: Account,
): Promise<void> {
  const { tsgId } = author.caller;
  const principal = serviceAccountPrincipal(account.name, tsgId);
  for (const policy of await accessPolicies.listByTsgAndPrincipals(tx, tsgId, [principal])) {
    await removePolicy(tx, deps, author, account, policy);
  }
}

async function removePolicy(
  tx: Db,
  deps: Pick<AdminDeps, 'audit'>,
  author: Author,
  account: Account,
  { id, role }: AccessPolicyRow,
): Promise<void> {
  await accessPolicies.deleteById(tx, author.caller.tsgId, id);
  await auditPolicy(tx, deps, author, account, { id, action: 'delete', changes: { role } });
}

function auditPolicy(
  tx: Db,
  deps: Pick<AdminDeps, 'audit'>,
  author: Author,
  { workspace_id: workspaceId }: Account,
  { id, action, changes }: { id: string; action: 'create' | 'delete'; changes: object },
): Promise<void> {
  const what = { action, kind: 'AccessPolicy', resourceId: id, workspaceId } as const;
  return auditChange(tx, deps, author, { ...what, changes: { ...changes } });
}
