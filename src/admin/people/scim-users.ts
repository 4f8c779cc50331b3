/**
 * HTTP routes for users that a directory provisions over SCIM 2.0 (docs/reference/access.md, Provisioning).
 */
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { patchedUser, ScimPatch, ScimUserBody, userStateOf } from '../../model/people/scim.ts';
import { readScimFilter, scimUserAttributes } from '../../model/people/scim-filter.ts';
import { ApiError } from '../../model/wire/errors.ts';
import * as users from '../../store/people/users.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import type { QueryRequest } from '../request/frame-fields.ts';
import { idOr404, requireWholeOrganisation } from '../request/scoping.ts';
import { withVersionTag } from '../request/version.ts';
import { ScimUser, toScimUser, toUserState } from './scim-record.ts';
import {
  pageOfScim,
  ScimListQuery,
  scimDeleted,
  scimDeletion,
  scimList,
  scimListOf,
  scimRoute,
} from './scim-routes.ts';
import { changeScimUser, createScimUser, deleteScimUser } from './scim-user-changes.ts';

export function scimUserRoutes(deps: AdminDeps): Route<Principal>[] {
  const all = { ...scimRoute, path: '/scim/v2/Users' } as const;
  const item = { ...scimRoute, path: `${all.path}/:id`, versioned: true } as const;
  return [
    route({
      ...all,
      method: 'POST',
      summary: 'Create a user over SCIM',
      successStatus: 201,
      body: ScimUserBody,
      response: ScimUser,
      handle: async (request) =>
        toScimUser(await createScimUser(deps, request, userStateOf(request.body))),
    }),
    route({
      ...all,
      method: 'GET',
      summary: 'List users over SCIM',
      query: ScimListQuery,
      response: scimListOf(ScimUser),
      handle: (request) => list(deps, request),
    }),
    route({
      ...item,
      method: 'GET',
      versioned: false,
      summary: 'Get a user over SCIM',
      response: ScimUser,
      handle: (request) => get(deps, request),
    }),
    route({
      ...item,
      method: 'PUT',
      summary: 'Replace a user over SCIM',
      refusals: ['conflict'],
      body: ScimUserBody,
      response: ScimUser,
      handle: async (request) =>
        toScimUser(await changeScimUser(deps, request, () => userStateOf(request.body))),
    }),
    route({
      ...item,
      method: 'PATCH',
      summary: 'Change some attributes of a user over SCIM',
      refusals: ['conflict'],
      body: ScimPatch,
      response: ScimUser,
      handle: async (request) =>
        toScimUser(
          await changeScimUser(deps, request, (row) => patchedUser(toUserState(row), request.body)),
        ),
    }),
    route({
      ...item,
      ...scimDeletion,
      summary: 'Delete a user over SCIM',
      refusals: ['conflict'],
      handle: (request) => scimDeleted(deleteScimUser(deps, request)),
    }),
  ];
}

async function list(deps: AdminDeps, { caller, query }: QueryRequest<ScimListQuery>) {
  requireWholeOrganisation(caller);
  const condition = readScimFilter(query.filter, scimUserAttributes);
  const page = pageOfScim(query);
  const db = deps.database.readable;
  const stored = await users.list(db, caller.organisationId, { condition }, page);
  return scimList(stored.rows.map(toScimUser), page, stored.total);
}

async function get(deps: AdminDeps, { caller, params }: AdminRequest) {
  requireWholeOrganisation(caller);
  const id = idOr404(params.id!);
  const row = await users.findById(deps.database.readable, caller.organisationId, id);
  if (row === undefined) throw new ApiError('notFound');
  return withVersionTag(toScimUser(row), row);
}
