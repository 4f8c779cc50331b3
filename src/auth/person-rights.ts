/**
 * Determines what a workspace allows a user to do (docs/reference/access.md, Visibility), by the current
 * role.
 */

import { hasAccessEverywhere, type WorkspaceRole } from '../model/people/person.ts';
import { readDocument } from '../model/wire/json-record.ts';
import {
  type ActionRight,
  hasWorkspaceRight,
  type Right,
  type SecuritySettings,
} from '../model/workspaces/security-settings.ts';
import type { Db } from '../store/connection/db.ts';
import * as users from '../store/people/users.ts';
import * as workspaceMembers from '../store/people/workspace-members.ts';
import type { StoredWorkspace } from '../store/resources/workspaces.ts';

/** Null for the whole organisation. */
export type RightsScope = Pick<StoredWorkspace, 'id' | 'security_settings'> | null;

export interface UserReference {
  readonly organisationId: string;
  readonly userId: string;
}

/** Skips reading the role when every role has the right. */
export async function hasRight(
  db: Db,
  person: UserReference,
  place: RightsScope,
  right: ActionRight,
): Promise<boolean> {
  const isOpenToAll = isGrantedTo(place, 'member', right) && isGrantedTo(place, 'manager', right);
  return isOpenToAll || isGrantedTo(place, await roleOf(db, person, place), right);
}

/**
 * Organisation administrators are administrators of each workspace; former members count as plain members.
 */
export async function roleOf(
  db: Db,
  { organisationId, userId }: UserReference,
  place: RightsScope,
): Promise<WorkspaceRole> {
  const user = await users.findById(db, organisationId, userId);
  if (user !== undefined && hasAccessEverywhere(user)) return 'admin';
  if (place === null) return 'member';
  const roles = await workspaceMembers.listRoles(db, organisationId, userId);
  return roles.get(place.id) ?? 'member';
}

export function isGrantedTo(place: RightsScope, role: WorkspaceRole, right: Right): boolean {
  const settings = place === null ? null : readDocument<SecuritySettings>(place.security_settings);
  return hasWorkspaceRight(settings, role, right);
}
