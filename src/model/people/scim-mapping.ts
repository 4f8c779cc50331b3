/** Defines the bodies that map a directory's group to a role in a workspace. */
import { z } from 'zod';
import { ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';
import { WorkspaceRole as Role, type WorkspaceRole } from './person.ts';

/** Directories send role names in any case. */
export const MappedRole = z.string().toLowerCase().pipe(Role);

/** Body of POST /scim/workspaces: a group by id, or by a name; a missing group of that name is created. */
export const ScimMappingCreate = z
  .object({
    workspace_id: WorkspaceReference,
    role: MappedRole,
    scim_group_id: z.uuid().toLowerCase().optional(),
    scim_group_name: ResourceName.optional(),
  })
  .refine(
    (body) => (body.scim_group_id === undefined) !== (body.scim_group_name === undefined),
    'requires exactly one of scim_group_id and scim_group_name',
  );
export type ScimMappingCreate = z.infer<typeof ScimMappingCreate>;

/** Body of PUT /scim/workspaces/{id}. */
export const ScimMappingUpdate = z.object({ role: MappedRole.optional() });
export type ScimMappingUpdate = z.infer<typeof ScimMappingUpdate>;

/** Schema of a manifest's spec: groups by name, since ids are specific to one server. */
export function makeScimMappingSpec() {
  return z.strictObject({
    workspace_id: WorkspaceReference.optional(),
    role: Role.describe('Role of the group members in the workspace.'),
    scim_group_name: ResourceName.describe(
      'Name of the directory group; the group is created if it does not exist.',
    ),
  });
}

const ranks: readonly WorkspaceRole[] = ['member', 'manager', 'admin'];

/** Returns the highest role that a person has through several groups; undefined for none. */
export function highestRole(roles: readonly WorkspaceRole[]): WorkspaceRole | undefined {
  return ranks.findLast((role) => roles.includes(role));
}
