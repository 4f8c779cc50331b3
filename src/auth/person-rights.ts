/** Knows what a workspace lets somebody do in person (docs/api.md, Visibility), by the role of that moment. */
import { readDocument } from '../model/json-record.ts';
import { actsEverywhere, type WorkspaceRole } from '../model/person.ts';
import {
  type Deed,
  givesRight,
  type Right,
  type SecuritySettings,
} from '../model/security-settings.ts';
import type { Db } from '../store/connection/db.ts';
import * as users from '../store/tables/users.ts';
import * as workspaceMembers from '../store/tables/workspace-members.ts';
import type { StoredWorkspace } from '../store/tables/workspaces.ts';

/** Null for all of the organisation. */
export type Place = Pick<StoredWorkspace, 'id' | 'security_settings'> | null;

export interface PersonOf {
  readonly organisationId: string;
  readonly userId: string;
}

/** The role is not read where people of every role have the right. */
export async function hasRight(
  db: Db,
  person: PersonOf,
  place: Place,
  right: Deed,
): Promise<boolean> {
  const isOpenToAll = isGiven(place, 'member', right) && isGiven(place, 'manager', right);
  return isOpenToAll || isGiven(place, await roleOf(db, person, place), right);
}

/** Administrators of the organisation are those of each workspace; who is in it no more is a plain member. */
export async function roleOf(
  db: Db,
  { organisationId, userId }: PersonOf,
  place: Place,
): Promise<WorkspaceRole> {
  const user = await users.findById(db, organisationId, userId);
  if (user !== undefined && actsEverywhere(user)) return 'admin';
  if (place === null) return 'member';
  const roles = await workspaceMembers.listRoles(db, organisationId, userId);
  return roles.get(place.id) ?? 'member';
}

/** Whether people of that role have the right there. */
export function isGiven(place: Place, role: WorkspaceRole, right: Right): boolean {
  const said = place === null ? null : readDocument<SecuritySettings>(place.security_settings);
  return givesRight(said, role, right);
}
