/**
 * Enforces the visibility settings of a workspace for users (docs/reference/access.md, Visibility); other
 * credentials are not affected.
 */
import { hasRight, isGrantedTo, type RightsScope, roleOf } from '../../auth/person-rights.ts';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/routes/route.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { type ActionRight, requiredRight } from '../../model/workspaces/security-settings.ts';
import type { Db } from '../../store/connection/db.ts';
import * as apiKeys from '../../store/resources/api-keys.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import type { AdminDeps } from '../request/deps.ts';

/**
 * Wraps a route so that the workspace's settings for the user's role are checked first, where they apply.
 */
export function enforceRights(
  { database }: Pick<AdminDeps, 'database'>,
  route: Route<Principal>,
): Route<Principal> {
  const { scope, handle } = route;
  if (scope === undefined) return route;
  const rightFor = (scopes: string | readonly string[]) => requiredRight([scopes].flat());
  if (typeof scope !== 'function' && rightFor(scope) === undefined) return route;
  return {
    ...route,
    handle: async (request) => {
      const { caller, params } = request;
      if (caller.person !== null) {
        const right = rightFor(typeof scope === 'function' ? scope(params) : scope);
        const db = database.readable;
        if (right !== undefined)
          await requireRight(db, caller, await workspaceOf(db, caller), right);
      }
      return handle(request);
    },
  };
}

async function workspaceOf(
  db: Db,
  { organisationId, workspaceId }: Principal,
): Promise<RightsScope> {
  if (workspaceId === null) return null;
  return (await workspaces.findByIdOrSlug(db, organisationId, workspaceId)) ?? null;
}

/** @throws ApiError `forbidden` when the workspace does not grant the right to the user's role */
export async function requireRight(
  db: Db,
  caller: Principal,
  workspace: RightsScope,
  right: ActionRight,
): Promise<void> {
  const { person, organisationId } = caller;
  if (person === null) return;
  if (await hasRight(db, { organisationId, userId: person.userId }, workspace, right)) return;
  throw new ApiError('forbidden', 'The workspace does not allow this for your role');
}

/**
 * Keys whose requests the caller may see; null for all. A user without a workspace who is no organisation
 * administrator sees only their own.
 */
export async function visibleKeys(
  db: Db,
  caller: Principal,
  workspace: RightsScope,
): Promise<readonly string[] | null> {
  const { person, organisationId } = caller;
  if (person === null) return null;
  const role = await roleOf(db, { organisationId, userId: person.userId }, workspace);
  const seesAll =
    role === 'admin' || (workspace !== null && isGrantedTo(workspace, role, 'ViewAllData'));
  if (seesAll) return null;
  const own = await apiKeys.listOfUser(db, organisationId, person.userId, workspace?.id);
  return own.map(({ id }) => id);
}
