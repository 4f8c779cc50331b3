/** HTTP routes for workspaces (docs/reference/resources.md, Workspaces). */

import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { FirstMembers } from '../../model/people/person.ts';
import { commaList } from '../../model/wire/comma-list.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { listReply, listSchema, pageQuery, toPage } from '../../model/wire/paging.ts';
import { mapItems } from '../../model/wire/streamed-list.ts';
import {
  WorkspaceCreate,
  WorkspaceDelete,
  WorkspaceUpdate,
} from '../../model/workspaces/workspace.ts';
import * as workspaceMembers from '../../store/people/workspace-members.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import type { WorkspaceContents } from '../../store/rows/workspace-contents.ts';
import * as usageBudgets from '../../store/usage/usage-budgets.ts';
import { type AdminDeps, everyMount, forOwners } from '../request/deps.ts';
import { createFields, type QueryRequest, updateBodyMeta } from '../request/frame-fields.ts';
import { type Resource, snapshotOf } from '../request/resource.ts';
import { withVersionTag } from '../request/version.ts';
import { createWorkspace, deleteWorkspace, updateWorkspace } from './workspace-changes.ts';
import {
  WorkspaceCreated,
  WorkspaceListItem,
  WorkspaceRecord,
  workspaceToCreated,
  workspaceToItem,
  workspaceToRecord,
  workspaceToSpec,
} from './workspace-record.ts';

const shared = { managed_by: createFields.managed_by };
const CreateBody = WorkspaceCreate.extend({ ...shared, users: FirstMembers.optional() });
/** The organisation follows from the token. */
const ignoredFields = ['organisation_id'];
/** Members have routes of their own. */
const ignoredOfUpdate = [...ignoredFields, 'users'];

const nameFormat = { name_format: z.enum(['display', 'plain']).default('display') };
const Status = z.enum(['active', 'archived']);
const ListQuery = z.object({
  ...pageQuery(),
  ...nameFormat,
  name: z.string().min(1).max(255).optional(),
  exact_name: z.string().min(1).max(255).optional(),
  /** Comma-separated. */
  status: z
    .string()
    .transform(commaList)
    .pipe(z.array(Status).max(2))
    .default(['active'])
    .meta({ pattern: '^ *(active|archived)( *, *(active|archived))? *$' }),
});
const GetQuery = z.object(nameFormat);

/** v1 clients use `/admin/workspaces`, clients of the other mounts `/workspaces`. */
const paths = ['/admin/workspaces', '/workspaces'];

export const workspaceResource: Resource = {
  kind: 'Workspace',
  features: [],
  routes: workspaceRoutes,
  snapshot: snapshotOf(workspaces.listAllForOrganisation, workspaceToSpec),
};

function workspaceRoutes(
  deps: AdminDeps,
  contents: readonly WorkspaceContents[],
): Route<Principal>[] {
  return paths.flatMap((path) => [
    route({
      ...forOwners,
      method: 'POST',
      path,
      mounts: everyMount,
      scope: 'workspaces.create',
      summary: 'Create a workspace',
      body: CreateBody,
      ignoredFields,
      response: WorkspaceCreated,
      handle: async (request) => {
        const row = await createWorkspace(deps, request);
        return workspaceToCreated(row, await membersOf(deps, row));
      },
    }),
    route({
      method: 'GET',
      path,
      mounts: everyMount,
      scope: 'workspaces.list',
      summary: 'List workspaces',
      query: ListQuery,
      response: listSchema(WorkspaceListItem),
      handle: (request) => list(deps, request),
    }),
    ...itemRoutes(deps, contents, `${path}/:id`),
  ]);
}

function itemRoutes(
  deps: AdminDeps,
  contents: readonly WorkspaceContents[],
  path: string,
): Route<Principal>[] {
  return [
    route({
      method: 'GET',
      path,
      mounts: everyMount,
      scope: 'workspaces.read',
      summary: 'Get a workspace',
      query: GetQuery,
      response: WorkspaceRecord,
      handle: (request) => get(deps, request),
    }),
    route({
      ...forOwners,
      method: 'PUT',
      path,
      mounts: everyMount,
      scope: 'workspaces.update',
      summary: 'Update a workspace',
      versioned: true,
      body: WorkspaceUpdate.extend(shared).meta(updateBodyMeta),
      ignoredFields: ignoredOfUpdate,
      response: z.object({}),
      handle: (request) => updateWorkspace(deps, request),
    }),
    route({
      ...forOwners,
      method: 'DELETE',
      path,
      mounts: everyMount,
      scope: 'workspaces.delete',
      summary: 'Archive a workspace',
      versioned: true,
      body: WorkspaceDelete,
      response: z.object({}),
      handle: (request) => deleteWorkspace(deps, contents, request),
    }),
  ];
}

async function list(deps: AdminDeps, { caller, query }: QueryRequest<z.infer<typeof ListQuery>>) {
  const filter = {
    id: caller.workspaceId ?? undefined,
    statuses: query.status,
    name: query.name,
    exactName: query.exact_name,
  };
  const db = deps.database.readable;
  const { rows, total } = await workspaces.list(db, caller.organisationId, filter, toPage(query));
  return listReply(
    mapItems(rows, (row) => workspaceToItem(row, query.name_format)),
    total,
  );
}

function membersOf(
  { database }: AdminDeps,
  { organisation_id, id }: workspaces.StoredWorkspace,
): Promise<workspaceMembers.MemberWithUser[]> {
  return workspaceMembers.listAll(database.readable, { organisation_id, workspace_id: id });
}

/** A bound credential finds only its own workspace. */
async function get(deps: AdminDeps, request: QueryRequest<z.infer<typeof GetQuery>>) {
  const { caller, params, query, now } = request;
  const db = deps.database.readable;
  const row = await workspaces.findByIdOrSlug(db, caller.organisationId, params.id!);
  if (row === undefined || (caller.workspaceId ?? row.id) !== row.id) {
    throw new ApiError('notFound');
  }
  const { id, organisation_id: organisationId } = row;
  const subject = { organisationId, kind: 'workspace', id } as const;
  const budget = await usageBudgets.findState(db, subject, now);
  const members = await membersOf(deps, row);
  return withVersionTag(workspaceToRecord(row, budget, members, query.name_format), row);
}
