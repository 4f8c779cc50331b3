/** HTTP routes for users (docs/reference/access.md, People). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { emailKey, OrganisationRole, UserUpdate } from '../../model/people/person.ts';
import { ApiError } from '../../model/wire/errors.ts';
import {
  listReply,
  listSchema,
  pageQueryInBothSpellings,
  toPageFromBothSpellings,
} from '../../model/wire/paging.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import * as users from '../../store/people/users.ts';
import * as workspaceMembers from '../../store/people/workspace-members.ts';
import { requireGrantableRole } from '../access/grantable.ts';
import { auditChange } from '../request/change.ts';
import { type AdminDeps, type AdminRequest, everyMount } from '../request/deps.ts';
import {
  type BodyRequest,
  type QueryRequest,
  requireUpdate,
  updateBodyMeta,
} from '../request/frame-fields.ts';
import { idOr404, requireWholeOrganisation } from '../request/scoping.ts';
import { withVersionTag } from '../request/version.ts';
import { deleteUser, lockUser } from './user-changes.ts';
import { UserRecord, userToRecord } from './user-record.ts';

const NamePart = z.string().min(1).max(255).optional();
const ListQuery = z.object({
  ...pageQueryInBothSpellings(),
  role: OrganisationRole.optional(),
  /** The complete address. */
  email: z.string().min(1).max(254).optional(),
  first_name: NamePart,
  last_name: NamePart,
  /** Part of first and last name together. */
  search: NamePart,
});

export function userRoutes(deps: AdminDeps): Route<Principal>[] {
  const item = { mounts: everyMount, path: '/admin/users/:id' } as const;
  return [
    route({
      mounts: everyMount,
      path: '/admin/users',
      method: 'GET',
      scope: 'organisation_users.list',
      summary: 'List users',
      query: ListQuery,
      response: listSchema(UserRecord),
      handle: (request) => list(deps, request),
    }),
    route({
      ...item,
      method: 'GET',
      scope: 'organisation_users.read',
      summary: 'Get a user',
      response: UserRecord,
      handle: (request) => get(deps, request),
    }),
    route({
      ...item,
      method: 'PUT',
      scope: 'organisation_users.update',
      versioned: true,
      summary: 'Change the role or name of a user',
      refusals: ['conflict'],
      body: UserUpdate.meta(updateBodyMeta),
      response: z.object({}),
      handle: (request) => update(deps, request),
    }),
    route({
      ...item,
      method: 'DELETE',
      scope: 'organisation_users.delete',
      versioned: true,
      summary: 'Delete a user',
      refusals: ['conflict'],
      response: z.object({}),
      handle: (request) => remove(deps, request),
    }),
  ];
}

async function list(deps: AdminDeps, { caller, query }: QueryRequest<z.infer<typeof ListQuery>>) {
  requireWholeOrganisation(caller);
  const db = deps.database.readable;
  const { organisationId } = caller;
  const filter = {
    role: query.role,
    emailKey: query.email === undefined ? undefined : emailKey(query.email),
    firstName: query.first_name,
    lastName: query.last_name,
    name: query.search,
  };
  const { rows, total } = await users.list(
    db,
    organisationId,
    filter,
    toPageFromBothSpellings(query),
  );
  const ids = rows.map(({ id }) => id);
  const workspaceIds = await workspaceMembers.listWorkspaceIds(db, organisationId, ids);
  return listReply(
    rows.values().map((row) => userToRecord(row, workspaceIds.get(row.id) ?? [])),
    total,
  );
}

async function get(deps: AdminDeps, { caller, params }: AdminRequest) {
  requireWholeOrganisation(caller);
  const db = deps.database.readable;
  const id = idOr404(params.id!);
  const row = await users.findById(db, caller.organisationId, id);
  if (row === undefined) throw new ApiError('notFound');
  const workspaceIds = await workspaceMembers.listWorkspaceIds(db, caller.organisationId, [id]);
  return withVersionTag(userToRecord(row, workspaceIds.get(id) ?? []), row);
}

/** Returns `{}`. Refuses the current role, as clients of this API expect. */
async function update(deps: AdminDeps, request: BodyRequest<UserUpdate>) {
  const { body, now } = request;
  requireUpdate(body);
  if (body.role !== undefined) requireGrantableRole(request.caller, 'organisation', body.role);
  await deps.database.transaction(async (tx) => {
    const row = await lockUser(tx, request);
    if (row.role === body.role) {
      throw validationError({ path: ['role'], message: 'is already the role of the user' });
    }
    const names = (['first_name', 'last_name'] as const).filter(
      (name) => body[name] !== undefined && body[name] !== row[name],
    );
    if (names.length === 0 && body.role === undefined) return;
    const { role = row.role, first_name = row.first_name, last_name = row.last_name } = body;
    await users.update(tx, row, { role, first_name, last_name, last_updated_at: now });
    await auditChange(tx, deps, request, {
      action: 'update',
      kind: 'User',
      resourceId: row.id,
      workspaceId: null,
      changes: {
        ...(body.role === undefined ? {} : { role: body.role }),
        ...(names.length === 0 ? {} : { fields: names }),
      },
    });
  });
  return {};
}

/** Returns `{}`. */
async function remove(deps: AdminDeps, request: AdminRequest) {
  await deps.database.transaction(async (tx) => {
    await deleteUser(tx, deps, request, await lockUser(tx, request));
  });
  return {};
}
