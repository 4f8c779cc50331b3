/** Knows what a workspace lets its people see and write (docs/api.md, Visibility); credentials of nobody in person are held back by nothing. */
import { hasRight, isGiven, type Place, roleOf } from '../../auth/person-rights.ts';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/route.ts';
import { ApiError } from '../../model/errors.ts';
import { type Deed, rightBeside } from '../../model/security-settings.ts';
import type { Db } from '../../store/connection/db.ts';
import * as apiKeys from '../../store/tables/api-keys.ts';
import * as workspaces from '../../store/tables/workspaces.ts';
import type { AdminDeps } from './deps.ts';

/** A route that asks first what the caller's workspace lets people of that role do, where that is for it to say. */
export function heedRights(
  { database }: Pick<AdminDeps, 'database'>,
  route: Route<Principal>,
): Route<Principal> {
  const { scope, handle } = route;
  if (scope === undefined) return route;
  const rightFor = (asked: string | readonly string[]) => rightBeside([asked].flat());
  if (typeof scope !== 'function' && rightFor(scope) === undefined) return route;
  return {
    ...route,
    handle: async (request) => {
      const { caller, params } = request;
      if (caller.person !== null) {
        const right = rightFor(typeof scope === 'function' ? scope(params) : scope);
        const db = database.readable;
        if (right !== undefined) await requireRight(db, caller, await placeOf(db, caller), right);
      }
      return handle(request);
    },
  };
}

async function placeOf(db: Db, { organisationId, workspaceId }: Principal): Promise<Place> {
  if (workspaceId === null) return null;
  return (await workspaces.findByIdOrSlug(db, organisationId, workspaceId)) ?? null;
}

/**
 * Refuses what the workspace does not let its members, or its managers, do.
 *
 * @throws ApiError `forbidden`
 */
export async function requireRight(
  db: Db,
  caller: Principal,
  workspace: Place,
  right: Deed,
): Promise<void> {
  const { person, organisationId } = caller;
  if (person === null) return;
  if (await hasRight(db, { organisationId, userId: person.userId }, workspace, right)) return;
  throw new ApiError('forbidden', 'The workspace does not allow this to people of your role');
}

/**
 * The keys whose requests the caller may see; null for those of all. Who acts for a person in all of
 * the organisation, without being an administrator of it, sees that person's own.
 */
export async function visibleKeys(
  db: Db,
  caller: Principal,
  workspace: Place,
): Promise<readonly string[] | null> {
  const { person, organisationId } = caller;
  if (person === null) return null;
  const role = await roleOf(db, { organisationId, userId: person.userId }, workspace);
  const seesAll =
    role === 'admin' || (workspace !== null && isGiven(workspace, role, 'ViewAllData'));
  if (seesAll) return null;
  const own = await apiKeys.listOfUser(db, organisationId, person.userId, workspace?.id);
  return own.map(({ id }) => id);
}
