/** Knows the body by which people of a directory's group become members of a workspace. */
import { z } from 'zod';
import { WorkspaceRole as Role, type WorkspaceRole } from './person.ts';
import { ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';

/** Directories write their roles in any case. */
export const MappedRole = z.string().toLowerCase().pipe(Role);

/** Body of POST /scim/workspaces: a group by its id, or by a name that makes one where there is none. */
export const ScimMappingCreate = z
  .object({
    workspace_id: WorkspaceReference,
    role: MappedRole,
    scim_group_id: z.uuid().toLowerCase().optional(),
    scim_group_name: ResourceName.optional(),
  })
  .refine(
    (body) => (body.scim_group_id === undefined) !== (body.scim_group_name === undefined),
    'takes either scim_group_id or scim_group_name',
  );
export type ScimMappingCreate = z.infer<typeof ScimMappingCreate>;

/** Body of PUT /scim/workspaces/{id}. */
export const ScimMappingUpdate = z.object({ role: MappedRole.optional() });
export type ScimMappingUpdate = z.infer<typeof ScimMappingUpdate>;

/** What a manifest's spec must parse to: groups by name, since ids are of one server. */
export function makeScimMappingSpec() {
  return z.strictObject({
    workspace_id: WorkspaceReference.optional(),
    role: Role.describe('What the people of the group are in the workspace.'),
    scim_group_name: ResourceName.describe(
      'Group of the directory; one of this name is made where there is none.',
    ),
  });
}

const ranks: readonly WorkspaceRole[] = ['member', 'manager', 'admin'];

/** What somebody is by several groups: the most of it. Undefined for none. */
export function highestRole(roles: readonly WorkspaceRole[]): WorkspaceRole | undefined {
  return ranks.findLast((role) => roles.includes(role));
}
