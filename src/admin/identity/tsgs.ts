/** HTTP routes for child tenants of the caller's tenant (docs/reference/access.md, Child tenants). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/routes/route.ts';
import {
  TenantServiceGroupCreate,
  TenantServiceGroupUpdate,
} from '../../model/people/tenant-service-group.ts';
import { omitNulls } from '../../model/wire/json-record.ts';
import { listReply, listSchema, pageQuery, toPage } from '../../model/wire/paging.ts';
import * as childTsgs from '../../store/people/child-tsgs.ts';
import { type AdminDeps, everyMount } from '../request/deps.ts';
import {
  createFields,
  type ItemRequest,
  type QueryRequest,
  updateFields,
} from '../request/frame-fields.ts';
import { constant, record, timestamp } from '../request/record.ts';
import { type Resource, snapshotOf } from '../request/resource.ts';
import { resourceRoutes } from '../request/resource-routes.ts';
import {
  findOr404,
  idOr404,
  requireOwnOrganisation,
  requireWholeOrganisation,
} from '../request/scoping.ts';
import { withVersionTag } from '../request/version.ts';
import { createTsg, deleteTsg, updateTsg } from './tsg-changes.ts';

const mounts = { v2: everyMount.v2, admin: everyMount.admin } as const;

const child = record<childTsgs.StoredChildTsg & { readonly parent_tsg_id: string }>()({
  /** Id of the tenant's organisation. */
  id: z.uuid(),
  tsg_id: z.string(),
  parent_tsg_id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  created_at: timestamp,
  last_updated_at: timestamp,
  object: constant('tsg'),
});
const ListQuery = z.object({
  organisation_id: createFields.organisation_id,
  search: z.string().max(255).optional(),
  ...pageQuery(),
});

export const tsgResource: Resource = {
  kind: 'TenantServiceGroup',
  features: [],
  routes: (deps) => tsgRoutes(deps).map((one) => ({ ...one, mounts })),
  snapshot: snapshotOf(childTsgs.listAllForOrganisation, ({ name, description }) =>
    omitNulls({ name, description }),
  ),
};

function tsgRoutes(deps: AdminDeps): Route<Principal>[] {
  const on = resourceRoutes('/tsgs/:tsgId', (action) => `tsgs.${action}`);
  return [
    on.create({
      summary: 'Create a child tenant; the server chooses its TSG id',
      body: TenantServiceGroupCreate.extend(createFields),
      response: z.object({ id: z.uuid(), tsg_id: z.string(), object: z.literal('tsg') }),
      handle: (request) => createTsg(deps, request),
    }),
    on.list({
      summary: 'List the child tenants of the tenant',
      query: ListQuery,
      response: listSchema(child.schema),
      handle: (request) => list(deps, request),
    }),
    on.get({
      summary: 'Get a child tenant',
      response: child.schema,
      handle: (request) => get(deps, request),
    }),
    on.update({
      summary: 'Rename a child tenant, or change its description',
      body: TenantServiceGroupUpdate.extend({ managed_by: updateFields.managed_by }),
      ignoredFields: ['id', 'tsg_id', 'parent_tsg_id'],
      response: z.object({}),
      handle: (request) => updateTsg(deps, request),
    }),
    on.remove({
      summary: 'Delete a child tenant, which must be empty',
      handle: (request) => deleteTsg(deps, request),
    }),
  ];
}

async function list(deps: AdminDeps, { caller, query }: QueryRequest<z.infer<typeof ListQuery>>) {
  requireWholeOrganisation(caller);
  requireOwnOrganisation(caller, query.organisation_id);
  const db = deps.database.readable;
  const filter = { organisation_id: caller.organisationId };
  const page = await childTsgs.listMatching(db, filter, toPage(query), query.search);
  const records = page.rows.values().map((row) => toRecord(caller, row));
  return listReply(records, page.total);
}

async function get(deps: AdminDeps, { caller, params }: Pick<ItemRequest, 'caller' | 'params'>) {
  requireWholeOrganisation(caller);
  const id = idOr404(params.tsgId!);
  const row = await childTsgs.findById(deps.database.readable, caller.organisationId, id);
  const found = findOr404(caller, row && { ...row, workspace_id: null });
  return withVersionTag(toRecord(caller, found), found);
}

function toRecord({ tsgId }: Principal, row: childTsgs.StoredChildTsg) {
  return child.toRecord({ ...row, parent_tsg_id: tsgId });
}
