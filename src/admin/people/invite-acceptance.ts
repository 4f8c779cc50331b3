/** Carries out an open invite once a user has its address. */

import type { InvitedMembership } from '../../model/people/invite.ts';
import { readDocument } from '../../model/wire/json-record.ts';
import type { Db } from '../../store/connection/db.ts';
import * as userInvites from '../../store/people/user-invites.ts';
import type { StoredUser } from '../../store/people/users.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import { addMember } from '../access/membership.ts';
import { type Author, auditChange } from '../request/change.ts';
import type { AdminDeps } from '../request/deps.ts';

/** Makes the user a member of the invite's workspaces that still exist; the invite must be locked. */
export async function acceptInvite(
  tx: Db,
  deps: AdminDeps,
  author: Author,
  invite: userInvites.StoredInvite,
  user: StoredUser,
): Promise<void> {
  const { now } = author;
  await userInvites.update(tx, invite, {
    status: 'accepted' as const,
    pending_key: null,
    accepted_at: now,
    last_updated_at: now,
  });
  await auditChange(tx, deps, author, {
    action: 'update',
    kind: 'UserInvite',
    resourceId: invite.id,
    workspaceId: null,
    changes: { accepted_by: user.id },
  });
  const scopes = readDocument<string[]>(invite.scopes) ?? undefined;
  for (const { id, role } of readDocument<InvitedMembership[]>(invite.workspaces) ?? []) {
    const workspace = await workspaces.findByIdOrSlugForShare(tx, invite.organisation_id, id);
    if (workspace === undefined) continue;
    await addMember(tx, deps, author, { workspace, user, role, source: 'manual', scopes });
  }
}
