/** Defines the roles of people and the bodies that change people and workspace memberships. */
import { z } from 'zod';

/** The owner is set when the organisation is created; the role cannot be assigned. */
export const OrganisationRole = z.enum(['owner', 'admin', 'member']);
export type OrganisationRole = z.infer<typeof OrganisationRole>;

export const AssignedRole = OrganisationRole.exclude(['owner']);
export type AssignedRole = z.infer<typeof AssignedRole>;

export const WorkspaceRole = z.enum(['admin', 'manager', 'member']);
export type WorkspaceRole = z.infer<typeof WorkspaceRole>;

const membersMax = 100;

const NamePart = z.string().min(1).max(255).nullable().optional();

/** Body of PUT /admin/users/{id}: an absent field is unchanged, null clears a name. */
export const UserUpdate = z.object({
  role: AssignedRole.optional(),
  first_name: NamePart,
  last_name: NamePart,
});
export type UserUpdate = z.infer<typeof UserUpdate>;

const Membership = z.strictObject({ id: z.uuid().toLowerCase(), role: WorkspaceRole });
export type Membership = z.infer<typeof Membership>;

/** Body of POST /admin/workspaces/{id}/users. */
export const MembersAdd = z.object({ users: z.array(Membership).min(1).max(membersMax) });
export type MembersAdd = z.infer<typeof MembersAdd>;

/** The members of a new workspace; a bare id adds a plain member. */
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

/** Key for lookups by e-mail address, which ignore case. */
export function emailKey(email: string): string {
  return email.toLowerCase();
}

/** Owners and administrators of the organisation have access to each of its workspaces. */
export function hasAccessEverywhere({ role }: { readonly role: OrganisationRole }): boolean {
  return role !== 'member';
}
