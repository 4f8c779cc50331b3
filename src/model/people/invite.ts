/** Knows the body by which somebody is invited, how long an invite is open, and what becomes of it. */
import { z } from 'zod';
import { AssignedRole, WorkspaceRole } from './person.ts';
import { WorkspaceReference } from '../wire/resource-fields.ts';
import { Scopes } from './scope-list.ts';

const workspacesMax = 100;

/** From the create, and from each time that it is sent again. */
export const inviteLifetimeMs = 7 * 86_400_000;

export const InviteStatus = z.enum(['pending', 'cancelled', 'accepted', 'expired']);
export type InviteStatus = z.infer<typeof InviteStatus>;

/** Where somebody will be a member, by UUID or slug as it was sent. */
export const InvitedInto = z.strictObject({ id: WorkspaceReference, role: WorkspaceRole });
export type InvitedInto = z.infer<typeof InvitedInto>;

/** Body of POST /admin/users/invites. */
export const InviteCreate = z.object({
  email: z.email().max(254),
  role: AssignedRole,
  workspaces: z.array(InvitedInto).max(workspacesMax).nullable().optional(),
  /** A key in each of the workspaces, with these scopes. */
  workspace_api_key_details: z.strictObject({ scopes: Scopes }).nullable().optional(),
});
export type InviteCreate = z.infer<typeof InviteCreate>;

interface Invite {
  readonly status: Exclude<InviteStatus, 'expired'>;
  readonly expires_at: number;
}

/** An open invite ends at its moment, whether or not anybody has looked. */
export function statusOfInvite({ status, expires_at }: Invite, now: number): InviteStatus {
  return status === 'pending' && expires_at <= now ? 'expired' : status;
}
