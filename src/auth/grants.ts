/**
 * Determines the roles of a service account in a tenant (TSG) from the access policies of it and its
 * ancestors.
 */
import { parseResource, serviceAccountPrincipal } from '../model/people/access-policy.ts';
import type { Db } from '../store/connection/db.ts';
import * as accessPolicies from '../store/people/access-policies.ts';
import * as organisations from '../store/resources/organisations.ts';
import * as workspaces from '../store/resources/workspaces.ts';

export interface RoleGrants {
  /** Roles on the TSG or on an ancestor; they apply to the whole tenant. */
  readonly roles: readonly string[];
  /** Roles confined to one workspace, by its id or slug. */
  readonly workspaces: ReadonlyMap<string, readonly string[]>;
  /** Whether the account belongs to the TSG or to an ancestor. */
  readonly isWithinReach: boolean;
}

/**
 * A policy applies to the TSG it names and to all its descendants, never to an ancestor or sibling. So
 * an account acts downwards in the tree, and elsewhere only if a policy there allows it.
 */
export async function findRoleGrants(
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

/** Roles by workspace id; references to workspaces that do not exist are dropped. */
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
