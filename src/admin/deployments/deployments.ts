/**
 * HTTP routes for deployments: gateways that an organisation runs (docs/reference/resources.md,
 * Deployments).
 */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { commaList } from '../../model/wire/comma-list.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { listReply, listSchema, pageQuery, toPage } from '../../model/wire/paging.ts';
import {
  DeploymentCreate,
  DeploymentStatus,
  DeploymentType,
  DeploymentUpdate,
} from '../../model/workspaces/gateway-deployment.ts';
import type { Db } from '../../store/connection/db.ts';
import * as gatewayDeployments from '../../store/resources/gateway-deployments.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import { type AdminDeps, everyMount, forOwners } from '../request/deps.ts';
import {
  createFields,
  type QueryRequest,
  updateBodyMeta,
  WorkspaceQuery,
} from '../request/frame-fields.ts';
import { type Resource, snapshotOf } from '../request/resource.ts';
import { requireOwnOrganisation, resolveWorkspace } from '../request/scoping.ts';
import { TagsQuery } from '../request/tags-query.ts';
import { withVersionTag } from '../request/version.ts';
import { archiveDeployment, createDeployment, updateDeployment } from './deployment-changes.ts';
import { DeploymentPing, DeploymentPings } from './deployment-ping.ts';
import {
  DeploymentCreated,
  DeploymentItem,
  DeploymentRecord,
  DeploymentUpdated,
  deploymentToItem,
  deploymentToRecord,
  deploymentToSpec,
  readWorkspaceIds,
} from './deployment-record.ts';

const { organisation_id, managed_by } = createFields;
const CreateBody = DeploymentCreate.extend(createFields);
const UpdateBody = DeploymentUpdate.extend({ managed_by }).meta(updateBodyMeta);
const workspaceSlugsMax = 100;

const ListQuery = WorkspaceQuery.extend({
  organisation_id,
  type: DeploymentType.optional(),
  status: DeploymentStatus.default('active'),
  /** Comma-separated. */
  workspace_slug: z
    .string()
    .transform(commaList)
    .pipe(z.array(z.string().min(1).max(255)).max(workspaceSlugsMax))
    .optional(),
  search: z.string().max(255).optional(),
  tags: TagsQuery.optional(),
  ...pageQuery(),
});

export const deploymentResource: Resource = {
  kind: 'Deployment',
  features: [],
  routes: deploymentRoutes,
  snapshot: snapshotOf(
    async (tx, organisationId, which) => {
      const rows = await gatewayDeployments.listActive(tx, organisationId, which);
      const all =
        rows.length === 0 ? [] : await workspaces.listAllForOrganisation(tx, organisationId);
      const active = new Set(all.map(({ id }) => id));
      return rows.map((row) => ({ ...row, active }));
    },
    ({ active, ...row }) => deploymentToSpec(row, active),
  ),
};

function deploymentRoutes(deps: AdminDeps): Route<Principal>[] {
  const all = { mounts: everyMount, path: '/deployments' } as const;
  const item = { mounts: everyMount, path: '/deployments/:deploymentId' } as const;
  const pings = new DeploymentPings(deps.outbound);
  return [
    route({
      ...all,
      ...forOwners,
      method: 'POST',
      returnsCredentialOf: 'Deployment',
      scope: 'deployments.create',
      summary: 'Register a deployment; its credential is returned only here',
      body: CreateBody,
      response: DeploymentCreated,
      handle: (request) => createDeployment(deps, request),
    }),
    route({
      ...all,
      method: 'GET',
      scope: 'deployments.list',
      summary: 'List deployments',
      query: ListQuery,
      response: listSchema(DeploymentItem),
      handle: (request) => list(deps, request),
    }),
    route({
      ...item,
      method: 'GET',
      scope: 'deployments.read',
      summary: 'Get a deployment',
      query: z.object({ organisation_id }),
      response: DeploymentRecord,
      handle: (request) => get(deps, request),
    }),
    route({
      ...item,
      path: '/deployments/:deploymentId/ping',
      method: 'GET',
      scope: 'deployments.read',
      summary: 'Check whether a deployment responds at its address',
      query: z.object({ organisation_id }),
      response: DeploymentPing,
      handle: async (request) => pings.ping(await findServed(deps, request)),
    }),
    route({
      ...item,
      ...forOwners,
      method: 'PUT',
      scope: 'deployments.update',
      versioned: true,
      summary: 'Update a deployment or replace its credential; fields that are not sent stay',
      body: UpdateBody,
      ignoredFields: ['id', 'slug', 'organisation_id'],
      response: DeploymentUpdated,
      handle: (request) => updateDeployment(deps, request),
    }),
    route({
      ...item,
      ...forOwners,
      method: 'DELETE',
      scope: 'deployments.delete',
      versioned: true,
      summary: 'Archive a deployment',
      response: z.object({}),
      handle: (request) => archiveDeployment(deps, request),
    }),
  ];
}

/** Deployments that serve the workspace the caller is bound to or names, and any of the slugs. */
async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof ListQuery>>) {
  const { caller, query } = request;
  const db = deps.database.readable;
  requireOwnOrganisation(caller, query.organisation_id);
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const { type, status, tags, search } = query;
  const filter = {
    type,
    status,
    tags,
    search: search === '' ? undefined : search,
    workspaceIds:
      workspace === null
        ? await idsOf(db, caller.organisationId, query.workspace_slug)
        : [workspace.id],
  };
  const stored = await gatewayDeployments.list(db, caller.organisationId, filter, toPage(query));
  return listReply(stored.rows.map(deploymentToItem), stored.total);
}

/** Slugs of unknown workspaces match deployments that serve all workspaces. */
async function idsOf(
  db: Db,
  organisationId: string,
  slugs: readonly string[] | undefined,
): Promise<string[] | undefined> {
  if (slugs === undefined) return undefined;
  const all = await workspaces.listAllForOrganisation(db, organisationId);
  return all.filter(({ slug }) => slugs.includes(slug)).map(({ id }) => id);
}

type ItemRequest = QueryRequest<{ readonly organisation_id?: string | undefined }>;

async function get(deps: AdminDeps, request: ItemRequest) {
  const row = await findServed(deps, request);
  const ids = readWorkspaceIds(row);
  const db = deps.database.readable;
  const named =
    ids.length === 0 ? [] : await workspaces.listByIds(db, request.caller.organisationId, ids);
  return withVersionTag(deploymentToRecord(row, named), row);
}

/** A caller bound to a workspace finds only deployments that serve it. */
async function findServed(
  deps: AdminDeps,
  { caller, params, query }: ItemRequest,
): Promise<gatewayDeployments.StoredGatewayDeployment> {
  const db = deps.database.readable;
  const { organisationId } = caller;
  requireOwnOrganisation(caller, query.organisation_id);
  const row = await gatewayDeployments.findByIdOrSlug(db, organisationId, params.deploymentId!);
  if (row === undefined) throw new ApiError('notFound');
  const isServed =
    caller.workspaceId === null ||
    row.allow_all_workspaces !== 0 ||
    readWorkspaceIds(row).includes(caller.workspaceId);
  if (!isServed) throw new ApiError('notFound');
  return row;
}
