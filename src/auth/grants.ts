/** Knows which roles a service account holds in a TSG, by the access policies of it and those above. */
import { parseResource, serviceAccountPrincipal } from '../model/access-policy.ts';
import type { Db } from '../store/connection/db.ts';
import * as accessPolicies from '../store/tables/access-policies.ts';
import * as organisations from '../store/tables/organisations.ts';
import * as workspaces from '../store/tables/workspaces.ts';

export interface RoleGrants {
  /** Roles on the TSG or on one above it: they hold for the whole tenant. */
  readonly roles: readonly string[];
  /** Roles confined to one workspace each, named by id or slug. */
  readonly workspaces: ReadonlyMap<string, readonly string[]>;
  /** Whether the account lives in the TSG or above it. */
  readonly isWithinReach: boolean;
}

/**
 * A policy reaches the TSG it names and every TSG below, never one above or beside it; so a token
 * goes down the tree, and any other way only where a policy there says so.
 */
export async function findGrants(
  db: Db,
  account: { readonly name: string; readonly tsgId: string },
  tsgId: string,
): Promise<RoleGrants> {
  const [policies, ancestors] = await Promise.all([
    accessPolicies.listByPrincipal(db, serviceAccountPrincipal(account.name, account.tsgId)),
    organisations.listAncestors(db, tsgId),
  ]);
  const reaching = new Set([tsgId, ...ancestors]);
  const roles = new Set<string>();
  const workspaces = new Map<string, string[]>();
  for (const policy of policies) {
    const resource = parseResource(policy.resource);
    if (resource === null) continue;
    if (resource.workspace === null) {
      if (reaching.has(resource.tsgId)) roles.add(policy.role);
    } else if (resource.tsgId === tsgId) {
      const held = workspaces.get(resource.workspace) ?? [];
      workspaces.set(resource.workspace, [...held, policy.role]);
    }
  }
  return { roles: [...roles], workspaces, isWithinReach: reaching.has(account.tsgId) };
}

/** Roles by the UUID of the workspace that they are confined to; references to none that exists fall away. */
export async function rolesByWorkspace(
  db: Db,
  organisationId: string,
  grants: RoleGrants,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const roles = new Map<string, readonly string[]>();
  for (const [reference, held] of grants.workspaces) {
    const workspace = await workspaces.findByIdOrSlug(db, organisationId, reference);
    if (workspace === undefined) continue;
    roles.set(workspace.id, [...(roles.get(workspace.id) ?? []), ...held]);
  }
  return roles;
}
