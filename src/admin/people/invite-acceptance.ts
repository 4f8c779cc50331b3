/** Knows what becomes of an open invite once its address is a user's. */

import type { InvitedInto } from '../../model/people/invite.ts';
import { readDocument } from '../../model/wire/json-record.ts';
import type { Db } from '../../store/connection/db.ts';
import * as userInvites from '../../store/people/user-invites.ts';
import type { StoredUser } from '../../store/people/users.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import { addMember } from '../access/membership.ts';
import { type Author, auditChange } from '../request/change.ts';
import type { AdminDeps } from '../request/deps.ts';

/** The user becomes a member of the workspaces that are still there; the invite is held already. */
export async function acceptInvite(
  tx: Db,
  deps: AdminDeps,
  author: Author,
  invite: userInvites.StoredInvite,
  user: StoredUser,
): Promise<void> {
  const { now } = author;
  await userInvites.update(tx, invite, {
    ...({ status: 'accepted', pending_key: null } as const),
    ...{ accepted_at: now, last_updated_at: now },
  });
  await auditChange(tx, deps, author, {
    ...{ action: 'update', kind: 'UserInvite', resourceId: invite.id, workspaceId: null },
    changes: { accepted_by: user.id },
  });
  const scopes = readDocument<string[]>(invite.scopes) ?? undefined;
  for (const { id, role } of readDocument<InvitedInto[]>(invite.workspaces) ?? []) {
    const workspace = await workspaces.findByIdOrSlugForShare(tx, invite.organisation_id, id);
    if (workspace === undefined) continue;
    await addMember(tx, deps, author, { workspace, user, role, source: 'manual', scopes });
  }
}
