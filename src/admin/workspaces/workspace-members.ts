/** HTTP routes for the members of workspaces (docs/reference/access.md, People). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { emailKey, MembersAdd, MemberUpdate, WorkspaceRole } from '../../model/people/person.ts';
import { ApiError } from '../../model/wire/errors.ts';
import {
  listReply,
  listSchema,
  pageQueryInBothSpellings,
  toPageFromBothSpellings,
} from '../../model/wire/paging.ts';
import * as workspaceMembers from '../../store/people/workspace-members.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import { type AdminDeps, type AdminRequest, everyMount } from '../request/deps.ts';
import type { QueryRequest } from '../request/frame-fields.ts';
import { idOr404 } from '../request/scoping.ts';
import { withVersionTag } from '../request/version.ts';
import {
  addWorkspaceMembers,
  deleteWorkspaceMember,
  findWorkspace,
  updateWorkspaceMember,
} from './workspace-member-changes.ts';
import { toMember, WorkspaceMember } from './workspace-member-record.ts';

const ListQuery = z.object({
  ...pageQueryInBothSpellings(),
  role: WorkspaceRole.optional(),
  /** The complete address. */
  email: z.string().min(1).max(254).optional(),
  /** Repeats the path, as clients do; ignored. */
  workspaceId: z.string().max(255).optional(),
});

export function workspaceMemberRoutes(deps: AdminDeps): Route<Principal>[] {
  const all = { mounts: everyMount, path: '/admin/workspaces/:id/users' } as const;
  const item = { mounts: everyMount, path: `${all.path}/:userId` } as const;
  return [
    route({
      ...all,
      method: 'POST',
      scope: 'workspace_users.create',
      summary: 'Add members to a workspace',
      body: MembersAdd,
      response: z.object({}),
      handle: (request) => addWorkspaceMembers(deps, request),
    }),
    route({
      ...all,
      method: 'GET',
      scope: 'workspace_users.list',
      summary: 'List the members of a workspace',
      query: ListQuery,
      response: listSchema(WorkspaceMember),
      handle: (request) => list(deps, request),
    }),
    route({
      ...item,
      method: 'GET',
      scope: 'workspace_users.read',
      summary: 'Get a member of a workspace',
      response: WorkspaceMember,
      handle: (request) => get(deps, request),
    }),
    route({
      ...item,
      method: 'PUT',
      scope: 'workspace_users.update',
      versioned: true,
      summary: 'Change the role of a workspace member',
      body: MemberUpdate,
      response: z.object({}),
      handle: (request) => updateWorkspaceMember(deps, request),
    }),
    route({
      ...item,
      method: 'DELETE',
      scope: 'workspace_users.delete',
      versioned: true,
      summary: 'Remove a member from a workspace',
      response: z.object({}),
      handle: (request) => deleteWorkspaceMember(deps, request),
    }),
  ];
}

async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof ListQuery>>) {
  const { caller, params, query } = request;
  const db = deps.database.readable;
  const workspace = await findWorkspace(db, caller, params.id!, workspaces.findByIdOrSlug);
  const at = { organisation_id: caller.organisationId, workspace_id: workspace.id };
  const { role, email } = query;
  const filter = { role, emailKey: email === undefined ? undefined : emailKey(email) };
  const { rows, total } = await workspaceMembers.list(
    db,
    at,
    filter,
    toPageFromBothSpellings(query),
  );
  return listReply(rows.map(toMember).values(), total);
}

async function get(deps: AdminDeps, { caller, params }: AdminRequest) {
  const db = deps.database.readable;
  const workspace = await findWorkspace(db, caller, params.id!, workspaces.findByIdOrSlug);
  const at = { organisation_id: caller.organisationId, workspace_id: workspace.id };
  const [member] = await workspaceMembers.listAll(db, at, { userId: idOr404(params.userId!) });
  if (member === undefined) throw new ApiError('notFound');
  return withVersionTag(toMember(member), member);
}
