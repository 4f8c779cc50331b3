/**
 * HTTP routes for mappings of directory groups to workspaces (docs/reference/access.md, Groups of a
 * directory).
 */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { WorkspaceRole } from '../../model/people/person.ts';
import {
  MappedRole,
  ScimMappingCreate,
  ScimMappingUpdate,
} from '../../model/people/scim-mapping.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { pageQuery, toPage, wholeNumberParameter } from '../../model/wire/paging.ts';
import { WorkspaceReference } from '../../model/wire/resource-fields.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import * as scimGroups from '../../store/people/scim-groups.ts';
import * as scimMappings from '../../store/people/scim-mappings.ts';
import { type AdminDeps, type AdminRequest, everyMount, forOwners } from '../request/deps.ts';
import {
  createFields,
  type QueryRequest,
  updateBodyMeta,
  updateFields,
} from '../request/frame-fields.ts';
import { type Resource, snapshotOf } from '../request/resource.ts';
import { idOr404, requireWholeOrganisation, resolveWorkspace } from '../request/scoping.ts';
import { withVersionTag } from '../request/version.ts';
import { createScimMapping, deleteScimMapping, updateScimMapping } from './scim-mapping-changes.ts';

const ScimMapping = z.object({
  id: z.uuid(),
  workspace_id: z.uuid(),
  scim_group: z.string(),
  scim_group_id: z.uuid(),
  role: WorkspaceRole,
});
const ScimGroup = z.object({
  id: z.uuid(),
  name: z.string(),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
});

/** This API names the page parameter `page`. */
const paged = {
  page_size: pageQuery().page_size,
  page: wholeNumberParameter(0, 999_999_999).default(0),
};
const MappingQuery = z.object({
  ...paged,
  workspace_id: WorkspaceReference.optional(),
  scim_group_id: z.uuid().toLowerCase().optional(),
  role: MappedRole.optional(),
});
const MappingList = z.object({
  mappings: z.array(ScimMapping),
  total_count: z.int().min(0),
  page: z.int().min(0),
  page_size: z.int().min(1),
});
const GroupQuery = z.object({
  ...paged,
  /** Part of the name. */
  search: z.string().min(1).max(255).optional(),
});
const GroupList = z.object({ groups: z.array(ScimGroup), total_count: z.int().min(0) });

/** Directories have no scope of their own; the scope to change users applies. */
const scope = 'organisation_users.update';

const CreateBody = ScimMappingCreate.safeExtend(createFields);
const UpdateBody = ScimMappingUpdate.extend(updateFields).meta(updateBodyMeta);

export const scimMappingResource: Resource = {
  kind: 'ScimMapping',
  features: ['scim'],
  routes: scimMappingRoutes,
  snapshot: snapshotOf(
    scimMappings.listAllForOrganisation,
    ({ workspace_id, role, group_name: scim_group_name }) => ({
      workspace_id,
      role,
      scim_group_name,
    }),
    ({ group_name: name }) => ({ name }),
  ),
};

function scimMappingRoutes(deps: AdminDeps): Route<Principal>[] {
  const all = { mounts: everyMount, scope, path: '/scim/workspaces' } as const;
  const item = { ...all, path: '/scim/workspaces/:id' } as const;
  return [
    route({
      ...all,
      ...forOwners,
      method: 'POST',
      summary: 'Map a group to a workspace: its people become members',
      body: CreateBody,
      response: ScimMapping,
      handle: async (request) => present(await createScimMapping(deps, request)),
    }),
    route({
      ...all,
      method: 'GET',
      summary: 'List mappings of groups to workspaces',
      query: MappingQuery,
      response: MappingList,
      handle: (request) => listMappings(deps, request),
    }),
    route({
      ...item,
      method: 'GET',
      summary: 'Get a mapping of a group to a workspace',
      response: ScimMapping,
      handle: (request) => get(deps, request),
    }),
    route({
      ...item,
      ...forOwners,
      method: 'PUT',
      versioned: true,
      summary: 'Change the role of a mapping',
      body: UpdateBody,
      response: z.object({}),
      handle: (request) => updateScimMapping(deps, request),
    }),
    route({
      ...item,
      ...forOwners,
      method: 'DELETE',
      versioned: true,
      summary: 'Delete a mapping of a group to a workspace',
      response: z.object({ success: z.literal(true) }),
      handle: (request) => deleteScimMapping(deps, request),
    }),
    route({
      ...all,
      method: 'GET',
      path: '/scim/groups',
      summary: 'List the groups of the directory',
      query: GroupQuery,
      response: GroupList,
      handle: (request) => listGroups(deps, request),
    }),
  ];
}

async function get(deps: AdminDeps, { caller, params }: AdminRequest) {
  requireWholeOrganisation(caller);
  const { readable } = deps.database;
  const row = await scimMappings.findNamed(readable, caller.organisationId, idOr404(params.id!));
  if (row === undefined) throw new ApiError('notFound');
  return withVersionTag(present(row), row);
}

async function listMappings(
  deps: AdminDeps,
  { caller, query }: QueryRequest<z.infer<typeof MappingQuery>>,
) {
  requireWholeOrganisation(caller);
  const { page, page_size, role, scim_group_id: groupId } = query;
  const db = deps.database.readable;
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const filter = { workspaceId: workspace?.id, groupId, role };
  const at = toPage({ page_size, current_page: page });
  const { rows, total } = await scimMappings.list(db, caller.organisationId, filter, at);
  return { mappings: rows.map(present), total_count: total, page, page_size };
}

async function listGroups(
  deps: AdminDeps,
  { caller, query }: QueryRequest<z.infer<typeof GroupQuery>>,
) {
  requireWholeOrganisation(caller);
  const { page, page_size, search } = query;
  const at = toPage({ page_size, current_page: page });
  const db = deps.database.readable;
  const { rows, total } = await scimGroups.list(db, caller.organisationId, { search }, at);
  const groups = rows.map((row) => ({
    id: row.id,
    name: row.name,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
  }));
  return { groups, total_count: total };
}

function present(row: scimMappings.NamedScimMapping): z.infer<typeof ScimMapping> {
  return {
    id: row.id,
    workspace_id: row.workspace_id,
    role: row.role,
    scim_group: row.group_name,
    scim_group_id: row.group_id,
  };
}
