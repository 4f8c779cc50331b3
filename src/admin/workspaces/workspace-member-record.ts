/** Converts members of a workspace to API records. */
import { z } from 'zod';
import { OrganisationRole, WorkspaceRole } from '../../model/people/person.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type { MemberWithUser } from '../../store/people/workspace-members.ts';

/** A member within the workspace's own record. */
export const WorkspaceUser = z.object({
  id: z.uuid(),
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  org_role: OrganisationRole,
  role: WorkspaceRole,
  status: z.enum(['active', 'inactive']),
  workspace_id: z.uuid(),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
});

/** Response of get, and items of the list. */
export const WorkspaceMember = WorkspaceUser.extend({
  email: z.string(),
  scopes: z.array(z.string()),
  settings: z.object({}),
  object: z.literal('workspace-user'),
});

/** The owner of the organisation appears as admin in each of its workspaces. */
export function toWorkspaceUser({ user, ...row }: MemberWithUser): z.infer<typeof WorkspaceUser> {
  return {
    id: row.user_id,
    first_name: user.first_name,
    last_name: user.last_name,
    org_role: user.role,
    role: user.role === 'owner' ? 'admin' : row.role,
    status: user.status,
    workspace_id: row.workspace_id,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
  };
}

/** `scopes` and `settings` are always empty, because members have only a role. */
export function toMember(member: MemberWithUser): z.infer<typeof WorkspaceMember> {
  return {
    ...toWorkspaceUser(member),
    email: member.user.email,
    scopes: [],
    settings: {},
    object: 'workspace-user',
  };
}
