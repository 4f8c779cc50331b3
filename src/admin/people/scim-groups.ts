/**
 * HTTP routes for groups that a directory provisions over SCIM 2.0 (docs/reference/access.md, Provisioning).
 */
import type { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { groupStateOf, patchedGroup, ScimGroupBody, ScimPatch } from '../../model/people/scim.ts';
import { readScimFilter, scimGroupAttributes } from '../../model/people/scim-filter.ts';
import { ApiError } from '../../model/wire/errors.ts';
import * as scimGroups from '../../store/people/scim-groups.ts';
import type { AdminDeps } from '../request/deps.ts';
import type { QueryRequest } from '../request/frame-fields.ts';
import { idOr404, requireWholeOrganisation } from '../request/scoping.ts';
import { withVersionTag } from '../request/version.ts';
import {
  changeScimGroup,
  createScimGroup,
  deleteScimGroup,
  type GroupWithMembers,
} from './scim-group-changes.ts';
import { ScimGroup, toGroupState, toScimGroup } from './scim-record.ts';
import {
  pageOfScim,
  ScimItemQuery,
  ScimListQuery,
  scimDeleted,
  scimDeletion,
  scimList,
  scimListOf,
  scimRoute,
} from './scim-routes.ts';

export function scimGroupRoutes(deps: AdminDeps): Route<Principal>[] {
  const all = { ...scimRoute, path: '/scim/v2/Groups' } as const;
  const item = { ...scimRoute, path: `${all.path}/:id`, versioned: true } as const;
  const toRecord = ({ row, members }: GroupWithMembers) => toScimGroup(row, members);
  return [
    route({
      ...all,
      method: 'POST',
      summary: 'Create a group over SCIM',
      successStatus: 201,
      body: ScimGroupBody,
      response: ScimGroup,
      handle: async (request) =>
        toRecord(await createScimGroup(deps, request, groupStateOf(request.body))),
    }),
    route({
      ...all,
      method: 'GET',
      summary: 'List groups over SCIM',
      query: ScimListQuery,
      response: scimListOf(ScimGroup),
      handle: (request) => list(deps, request),
    }),
    route({
      ...item,
      method: 'GET',
      versioned: false,
      summary: 'Get a group over SCIM',
      query: ScimItemQuery,
      response: ScimGroup,
      handle: (request) => get(deps, request),
    }),
    route({
      ...item,
      method: 'PUT',
      summary: 'Replace a group over SCIM',
      refusals: ['conflict'],
      body: ScimGroupBody,
      response: ScimGroup,
      handle: async (request) =>
        toRecord(await changeScimGroup(deps, request, () => groupStateOf(request.body))),
    }),
    route({
      ...item,
      method: 'PATCH',
      summary: 'Change the name or members of a group over SCIM',
      refusals: ['conflict'],
      body: ScimPatch,
      response: ScimGroup,
      handle: async (request) =>
        toRecord(
          await changeScimGroup(deps, request, ({ row, members }) =>
            patchedGroup(toGroupState(row, members), request.body),
          ),
        ),
    }),
    route({
      ...item,
      ...scimDeletion,
      summary: 'Delete a group over SCIM',
      handle: (request) => scimDeleted(deleteScimGroup(deps, request)),
    }),
  ];
}

async function list(deps: AdminDeps, { caller, query }: QueryRequest<ScimListQuery>) {
  requireWholeOrganisation(caller);
  const { organisationId } = caller;
  const condition = readScimFilter(query.filter, scimGroupAttributes);
  const page = pageOfScim(query);
  const db = deps.database.readable;
  const { rows, total } = await scimGroups.list(db, organisationId, { condition }, page);
  const groupIds = leavesMembersOut(query) ? [] : rows.map(({ id }) => id);
  const members =
    groupIds.length === 0 ? [] : await scimGroups.listMembers(db, organisationId, { groupIds });
  const byGroup = Map.groupBy(members, ({ group_id }) => group_id);
  const membersOf = (id: string) =>
    leavesMembersOut(query) ? undefined : (byGroup.get(id) ?? []).map(({ user_id }) => user_id);
  return scimList(
    rows.map((row) => toScimGroup(row, membersOf(row.id))),
    page,
    total,
  );
}

async function get(
  deps: AdminDeps,
  { caller, params, query }: QueryRequest<z.infer<typeof ScimItemQuery>>,
) {
  requireWholeOrganisation(caller);
  const db = deps.database.readable;
  const id = idOr404(params.id!);
  const row = await scimGroups.findById(db, caller.organisationId, id);
  if (row === undefined) throw new ApiError('notFound');
  const members = leavesMembersOut(query)
    ? undefined
    : await scimGroups.listMembers(db, caller.organisationId, { groupIds: [id] });
  return withVersionTag(
    toScimGroup(
      row,
      members?.map(({ user_id }) => user_id),
    ),
    row,
  );
}

function leavesMembersOut({ excludedAttributes = '' }: z.infer<typeof ScimItemQuery>): boolean {
  return excludedAttributes.split(',').some((name) => name.trim().toLowerCase() === 'members');
}
