/** Knows MCP servers over HTTP: integrations as workspaces use them (contract.md 2.9). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/route.ts';
import { ApiError } from '../../model/errors.ts';
import { newId } from '../../model/ids.ts';
import { McpServerCreate, McpServerUpdate } from '../../model/mcp-server.ts';
import { pageOf, pageQuery, pageReply, toPage } from '../../model/paging.ts';
import { isUuid, makeSlug } from '../../model/slug.ts';
import type { Db } from '../../store/connection/db.ts';
import * as guardrailMappings from '../../store/tables/guardrail-mappings.ts';
import * as mcpIntegrations from '../../store/tables/mcp-integrations.ts';
import * as mcpServers from '../../store/tables/mcp-servers.ts';
import * as workspaces from '../../store/tables/workspaces.ts';
import {
  createFields,
  emptyToNull,
  type ItemRequest,
  refuseTakenSlug,
  requireUpdate,
  requireWorkspace,
  updateFields,
  WorkspaceQuery,
} from '../request/body-fields.ts';
import { recordChange, recordUpdate, requireVersion, versioned } from '../request/change.ts';
import { type AdminDeps, type AdminRequest, everyMount } from '../request/deps.ts';
import {
  findOr404,
  requireOwnOrganisation,
  resolveWorkspace,
  resolveWorkspaceForWrite,
} from '../request/scoping.ts';
import { McpServerListItem, McpServerRecord, toListItem, toRecord } from './mcp-server-record.ts';

const slugForm = { prefix: '', nameLengthMax: 40 };
const idsMax = 100;

const CreateBody = McpServerCreate.extend(createFields);
const UpdateBody = McpServerUpdate.extend(updateFields);
const ListQuery = WorkspaceQuery.extend({
  organisation_id: createFields.organisation_id,
  /** Comma-separated; texts that are no ids find nothing. */
  id: z
    .string()
    .transform((text) => text.split(',').map((id) => id.trim().toLowerCase()))
    .pipe(z.array(z.string()).max(idsMax))
    .optional(),
  search: z.string().max(255).optional(),
  ...pageQuery(),
});

type Params = Record<string, string>;
type CreateRequest = AdminRequest<Params, undefined, z.infer<typeof CreateBody>>;
type UpdateRequest = AdminRequest<Params, undefined, z.infer<typeof UpdateBody>>;

export function mcpServerRoutes(deps: AdminDeps): Route<Principal>[] {
  const all = { mounts: everyMount, path: '/mcp-servers' } as const;
  const item = { ...all, path: '/mcp-servers/:mcpServerId' };
  return [
    route({
      ...all,
      method: 'POST',
      scope: 'mcp_servers.create',
      summary: 'Let a workspace use an MCP integration',
      body: CreateBody,
      response: z.object({ id: z.uuid(), slug: z.string() }),
      handle: (request) => create(deps, request),
    }),
    route({
      ...all,
      method: 'GET',
      scope: 'mcp_servers.list',
      summary: 'List MCP servers',
      query: ListQuery,
      response: pageOf(McpServerListItem),
      handle: (request) => list(deps, request),
    }),
    route({
      ...item,
      method: 'GET',
      scope: 'mcp_servers.read',
      summary: 'Get an MCP server with its integration; header values are masked',
      query: WorkspaceQuery,
      response: McpServerRecord,
      handle: (request) => get(deps, request),
    }),
    route({
      ...item,
      method: 'PUT',
      scope: 'mcp_servers.update',
      summary: 'Replace the fields sent of an MCP server',
      body: UpdateBody,
      ignoredFields: ['id', 'slug'],
      response: z.object({}),
      handle: (request) => update(deps, request),
    }),
    route({
      ...item,
      method: 'DELETE',
      scope: 'mcp_servers.delete',
      summary: 'Delete an MCP server and take guardrails off it',
      query: WorkspaceQuery,
      response: z.object({}),
      handle: (request) => remove(deps, request),
    }),
  ];
}

async function create(deps: AdminDeps, request: CreateRequest) {
  const { caller, body, now } = request;
  requireOwnOrganisation(caller, body.organisation_id);
  const id = newId();
  const slug = body.slug ?? makeSlug(slugForm, body.name);
  await deps.database.transaction(async (tx) => {
    const workspace = await resolveWorkspaceForWrite(tx, caller, body.workspace_id);
    if (workspace === null) {
      const message = 'Request Validation Error: workspace_id: is required';
      throw new ApiError('invalid', message, 'workspace_id');
    }
    const integration = await findUsable(tx, caller, workspace.id, body.mcp_integration_id);
    await refuseTakenSlug(
      mcpServers.insert(tx, {
        id,
        organisation_id: caller.organisationId,
        workspace_id: workspace.id,
        mcp_integration_id: integration.id,
        slug,
        name: body.name,
        description: emptyToNull(body.description),
        status: 'active',
        created_at: now,
        last_updated_at: now,
      }),
    );
    await recordChange(tx, deps, request, {
      action: 'create',
      kind: 'McpServer',
      resourceId: id,
      workspaceId: workspace.id,
      changes: { name: body.name, mcp_integration: integration.slug },
      managedBy: body.managed_by,
    });
  });
  return { id, slug };
}

/** An integration of the organisation or of the workspace; it stays until the transaction ends. */
async function findUsable(
  tx: Db,
  caller: Principal,
  workspaceId: string,
  reference: string,
): Promise<mcpIntegrations.StoredMcpIntegration> {
  const { organisationId } = caller;
  const row = await mcpIntegrations.findByIdOrSlugForShare(tx, organisationId, reference);
  const usable = row !== undefined && [null, workspaceId].includes(row.workspace_id);
  if (!usable) throw new ApiError('notFound', undefined, 'mcp_integration_id');
  return row;
}

async function list(
  deps: AdminDeps,
  request: AdminRequest<Params, z.infer<typeof ListQuery>, undefined>,
) {
  const { caller, query } = request;
  const { organisationId } = caller;
  const db = deps.database.readable;
  requireOwnOrganisation(caller, query.organisation_id);
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const ids = query.id?.filter(isUuid);
  const page = toPage(query);
  const found =
    ids?.length === 0
      ? { rows: [], total: 0 }
      : await mcpServers.list(
          db,
          organisationId,
          {
            workspaceId: workspace?.id,
            ids,
            search: query.search === '' ? undefined : query.search,
          },
          page,
        );
  const wanted = [...new Set(found.rows.map((row) => row.mcp_integration_id))];
  const integrations = await mcpIntegrations.listByIds(db, organisationId, wanted);
  const integrationById = new Map(integrations.map((row) => [row.id, row]));
  const places = await workspaces.listAllForOrganisation(db, organisationId);
  const placeById = new Map(places.map((row) => [row.id, row]));
  // A server whose integration went between the two reads is going too.
  const data = found.rows.flatMap((row) => {
    const integration = integrationById.get(row.mcp_integration_id);
    return integration === undefined
      ? []
      : [toListItem(row, integration, placeById.get(row.workspace_id))];
  });
  return pageReply(data, page, found);
}

async function get(deps: AdminDeps, request: ItemRequest) {
  const { caller, query } = request;
  const db = deps.database.readable;
  const row = await findServer(db, request, mcpServers.findByIdOrSlug);
  await requireWorkspace(db, caller, row, query.workspace_id);
  const integration = await mcpIntegrations.findByIdOrSlug(
    db,
    caller.organisationId,
    row.mcp_integration_id,
  );
  if (integration === undefined) throw new ApiError('notFound');
  return versioned(toRecord(row, integration), row);
}

async function update(deps: AdminDeps, request: UpdateRequest) {
  const { caller, body, now } = request;
  requireUpdate(body);
  await deps.database.transaction(async (tx) => {
    const row = await findServer(tx, request, mcpServers.findByIdOrSlugForUpdate);
    await requireWorkspace(tx, caller, row, body.workspace_id);
    requireVersion(request, row.version);
    const name = body.name ?? row.name;
    const description =
      body.description === undefined ? row.description : emptyToNull(body.description);
    const fields = {
      ...(name === row.name ? {} : { name }),
      ...(description === row.description ? {} : { description }),
    };
    const changed = Object.keys(fields);
    if (changed.length > 0) {
      const written = { ...fields, last_updated_at: now };
      await mcpServers.update(tx, caller.organisationId, row.id, written);
    }
    await recordUpdate(tx, deps, request, { kind: 'McpServer', row, fields: changed });
  });
  return {};
}

async function remove(deps: AdminDeps, request: ItemRequest) {
  const { caller, query } = request;
  const { organisationId } = caller;
  await deps.database.transaction(async (tx) => {
    const row = await findServer(tx, request, mcpServers.findByIdOrSlugForUpdate);
    await requireWorkspace(tx, caller, row, query.workspace_id);
    requireVersion(request, row.version);
    const mappings = await guardrailMappings.listByServer(tx, organisationId, row.id);
    await guardrailMappings.deleteWithClaims(tx, organisationId, mappings);
    await mcpServers.deleteById(tx, organisationId, row.id);
    await recordChange(tx, deps, request, {
      action: 'delete',
      kind: 'McpServer',
      resourceId: row.id,
      workspaceId: row.workspace_id,
      changes: { name: row.name, mappings: mappings.length },
    });
  });
  return {};
}

/** The server the path names. */
export async function findServer(
  db: Db,
  { caller, params }: Pick<AdminRequest, 'caller' | 'params'>,
  find: typeof mcpServers.findByIdOrSlug,
): Promise<mcpServers.StoredMcpServer> {
  return findOr404(caller, await find(db, caller.organisationId, params.mcpServerId!));
}
