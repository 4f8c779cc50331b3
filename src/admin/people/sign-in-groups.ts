/** Applies the groups in the identity provider's claims to the user at sign-in. */
import type { Db } from '../../store/connection/db.ts';
import * as scimGroups from '../../store/people/scim-groups.ts';
import * as scimMappings from '../../store/people/scim-mappings.ts';
import type { Author } from '../request/change.ts';
import type { AdminDeps } from '../request/deps.ts';
import { settleMembership } from './scim-membership.ts';

const namesMax = 1000;

/** The user becomes a member of exactly the existing groups named; workspace memberships follow. */
export async function applyGroups(
  tx: Db,
  deps: AdminDeps,
  author: Author,
  userId: string,
  names: readonly string[],
): Promise<void> {
  const { organisationId } = author.caller;
  const named = await scimGroups.listByNames(tx, organisationId, names.slice(0, namesMax));
  const held = await scimGroups.listMembers(tx, organisationId, { userId });
  const previous = new Set(held.map(({ group_id }) => group_id));
  const current = new Set(named.map(({ id }) => id));
  const [added, removed] = [current.difference(previous), previous.difference(current)];
  for (const id of [...added, ...removed].toSorted()) {
    const group = await scimGroups.findForUpdate(tx, organisationId, 'id', id);
    if (group === undefined) continue;
    if (added.has(id)) await scimGroups.addMembers(tx, group, [userId]);
    else await scimGroups.removeMembers(tx, group, [userId]);
    for (const { workspace_id } of await scimMappings.listByGroup(tx, organisationId, id)) {
      await settleMembership(tx, deps, author, userId, workspace_id);
    }
  }
}
