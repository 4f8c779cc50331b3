/** Knows the roles of people, and the bodies by which they are changed and put into workspaces. */
import { z } from 'zod';

/** The owner is who the organisation was made with; nobody becomes one. */
export const OrganisationRole = z.enum(['owner', 'admin', 'member']);
export type OrganisationRole = z.infer<typeof OrganisationRole>;

export const AssignedRole = OrganisationRole.exclude(['owner']);
export type AssignedRole = z.infer<typeof AssignedRole>;

export const WorkspaceRole = z.enum(['admin', 'manager', 'member']);
export type WorkspaceRole = z.infer<typeof WorkspaceRole>;

const membersMax = 100;

const GivenName = z.string().min(1).max(255).nullable().optional();

/** Body of PUT /admin/users/{id}; absent fields stay, null clears a name. */
export const UserUpdate = z.object({
  role: AssignedRole.optional(),
  ...{ first_name: GivenName, last_name: GivenName },
});
export type UserUpdate = z.infer<typeof UserUpdate>;

const Membership = z.strictObject({ id: z.uuid().toLowerCase(), role: WorkspaceRole });
export type Membership = z.infer<typeof Membership>;

/** Body of POST /admin/workspaces/{id}/users. */
export const MembersAdd = z.object({ users: z.array(Membership).min(1).max(membersMax) });
export type MembersAdd = z.infer<typeof MembersAdd>;

/** The members that a workspace begins with; a bare id is of a plain member. */
export const FirstMembers = z
  .array(
    z.union([
      Membership,
      z
        .uuid()
        .toLowerCase()
        .transform((id): Membership => ({ id, role: 'member' })),
    ]),
  )
  .max(membersMax);

/** Body of PUT /admin/workspaces/{id}/users/{userId}. */
export const MemberUpdate = z.object({ role: WorkspaceRole });
export type MemberUpdate = z.infer<typeof MemberUpdate>;

/** By which an address is found: what differs in case only is one mailbox. */
export function emailKey(email: string): string {
  return email.toLowerCase();
}

/** Owners and administrators of the organisation act in each of its workspaces. */
export function actsEverywhere({ role }: { readonly role: OrganisationRole }): boolean {
  return role !== 'member';
}
