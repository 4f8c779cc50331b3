/** Defines the body that invites a person, the lifetime of an invite and its status. */
import { z } from 'zod';
import { WorkspaceReference } from '../wire/resource-fields.ts';
import { AssignedRole, WorkspaceRole } from './person.ts';
import { Scopes } from './scope-list.ts';

const workspacesMax = 100;

/** Counted from the creation and again from each time that the invite is resent. */
export const inviteLifetimeMs = 7 * 86_400_000;

export const InviteStatus = z.enum(['pending', 'cancelled', 'accepted', 'expired']);
export type InviteStatus = z.infer<typeof InviteStatus>;

/** A future membership; the workspace by UUID or slug, as it was sent. */
export const InvitedMembership = z.strictObject({ id: WorkspaceReference, role: WorkspaceRole });
export type InvitedMembership = z.infer<typeof InvitedMembership>;

/** Body of POST /admin/users/invites. */
export const InviteCreate = z.object({
  email: z.email().max(254),
  role: AssignedRole,
  workspaces: z.array(InvitedMembership).max(workspacesMax).nullable().optional(),
  /** Creates a key with these scopes in each of the workspaces. */
  workspace_api_key_details: z.strictObject({ scopes: Scopes }).nullable().optional(),
});
export type InviteCreate = z.infer<typeof InviteCreate>;

interface Invite {
  readonly status: Exclude<InviteStatus, 'expired'>;
  readonly expires_at: number;
}

/** An open invite expires at its time even if no job has updated it. */
export function inviteStatus({ status, expires_at }: Invite, now: number): InviteStatus {
  return status === 'pending' && expires_at <= now ? 'expired' : status;
}
