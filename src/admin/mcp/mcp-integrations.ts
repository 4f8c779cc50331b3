/** Knows MCP integrations over HTTP (contract.md 2.8). */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { authorise } from '../../auth/authenticate.ts';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/route.ts';
import { ApiError } from '../../model/errors.ts';
import { below } from '../../model/fault.ts';
import { newId } from '../../model/ids.ts';
import { readDocument, writeDocument } from '../../model/json-record.ts';
import { mcpIntegrationFaults } from '../../model/mcp-configurations.ts';
import { McpIntegrationCreate, McpIntegrationUpdate } from '../../model/mcp-integration.ts';
import { pageOf, pageQuery, pageReply, toPage } from '../../model/paging.ts';
import { covers } from '../../model/scopes.ts';
import { makeSlug } from '../../model/slug.ts';
import type { Db } from '../../store/connection/db.ts';
import * as mcpCapabilities from '../../store/tables/mcp-capabilities.ts';
import * as mcpIntegrations from '../../store/tables/mcp-integrations.ts';
import * as mcpServers from '../../store/tables/mcp-servers.ts';
import {
  createFields,
  emptyToNull,
  faultsError,
  type ItemRequest,
  refuseFaults,
  refuseTakenSlug,
  requireUnchanged,
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
import {
  McpIntegrationRecord,
  readConfigurations,
  toListItem,
  toRecord,
} from './mcp-integration-record.ts';
import { type SealedConfigurations, sealConfigurations } from './mcp-secrets.ts';

const slugForm = { prefix: '', nameLengthMax: 40 };

/** Refused on every plane, also where other unknown fields are dropped (C079). */
const command = z
  .never({ error: 'is for local programs, which are never started; give a url' })
  .optional();

const CreateBody = McpIntegrationCreate.extend({ ...createFields, command });
const UpdateBody = McpIntegrationUpdate.extend({
  ...updateFields,
  slug: McpIntegrationCreate.shape.slug,
  command,
});
const ListQuery = WorkspaceQuery.extend({
  organisation_id: createFields.organisation_id,
  type: z.enum(['organisation', 'workspace', 'all']).default('all'),
  search: z.string().max(255).optional(),
  ...pageQuery({ sizeMax: 1000 }),
});

type Params = Record<string, string>;
type CreateRequest = AdminRequest<Params, undefined, z.infer<typeof CreateBody>>;
type UpdateRequest = AdminRequest<Params, undefined, z.infer<typeof UpdateBody>>;

export function mcpIntegrationRoutes(deps: AdminDeps): Route<Principal>[] {
  const all = { mounts: everyMount, path: '/mcp-integrations' } as const;
  const item = { ...all, path: '/mcp-integrations/:mcpIntegrationId' };
  return [
    route({
      ...all,
      method: 'POST',
      scope: eitherScope('create'),
      summary: 'Create an MCP integration; its server is not contacted',
      body: CreateBody,
      response: z.object({ id: z.uuid(), slug: z.string() }),
      handle: (request) => create(deps, request),
    }),
    route({
      ...all,
      method: 'GET',
      scope: eitherScope('list'),
      summary: 'List MCP integrations',
      query: ListQuery,
      response: pageOf(McpIntegrationRecord),
      handle: (request) => list(deps, request),
    }),
    route({
      ...item,
      method: 'GET',
      scope: eitherScope('read'),
      summary: 'Get an MCP integration; header values are masked',
      query: WorkspaceQuery,
      response: McpIntegrationRecord,
      handle: (request) => get(deps, request),
    }),
    route({
      ...item,
      method: 'PUT',
      scope: eitherScope('update'),
      summary: 'Replace the fields sent of an MCP integration; a masked header keeps its value',
      body: UpdateBody,
      ignoredFields: ['id'],
      response: z.object({}),
      handle: (request) => update(deps, request),
    }),
    route({
      ...item,
      method: 'DELETE',
      scope: eitherScope('delete'),
      summary: 'Delete an MCP integration that no MCP server uses',
      query: WorkspaceQuery,
      response: z.object({}),
      handle: (request) => remove(deps, request),
    }),
  ];
}

/** Which of the two counts depends on the integration; {@link requireScope} then asks for the one. */
export function eitherScope(action: string): readonly string[] {
  return [`organisation_mcp_integrations.${action}`, `workspace_mcp_integrations.${action}`];
}

/** @throws ApiError `forbidden` unless the caller holds the scope for where the integration is. */
export function requireScope(
  caller: Principal,
  at: { readonly workspace_id: string | null },
  action: string,
): void {
  const [organisation, workspace] = eitherScope(action);
  authorise(caller, at.workspace_id === null ? organisation! : workspace!);
}

async function create(deps: AdminDeps, request: CreateRequest) {
  const { caller, body, now } = request;
  requireOwnOrganisation(caller, body.organisation_id);
  refuseFaults(mcpIntegrationFaults(body, deps.trustedHosts));
  const id = newId();
  const configurations = sealed(deps, id, body.configurations, null);
  const slug = body.slug ?? makeSlug(slugForm, body.name);
  await deps.database.transaction(async (tx) => {
    const workspace = await resolveWorkspaceForWrite(tx, caller, body.workspace_id);
    const workspaceId = workspace?.id ?? null;
    requireScope(caller, { workspace_id: workspaceId }, 'create');
    await refuseTakenSlug(
      mcpIntegrations.insert(tx, {
        id,
        organisation_id: caller.organisationId,
        workspace_id: workspaceId,
        slug,
        name: body.name,
        description: emptyToNull(body.description),
        url: body.url,
        auth_type: body.auth_type,
        transport: body.transport,
        configurations: writeDocument(configurations),
        secret_mappings: writeDocument(body.secret_mappings),
        status: 'active',
        owner_id: caller.id,
        created_at: now,
        last_updated_at: now,
      }),
    );
    await recordChange(tx, deps, request, {
      action: 'create',
      kind: 'McpIntegration',
      resourceId: id,
      workspaceId,
      changes: { name: body.name },
      managedBy: body.managed_by,
    });
  });
  return { id, slug };
}

async function list(
  deps: AdminDeps,
  request: AdminRequest<Params, z.infer<typeof ListQuery>, undefined>,
) {
  const { caller, query, mount } = request;
  const db = deps.database.readable;
  requireOwnOrganisation(caller, query.organisation_id);
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const filter = {
    workspaceId: workspace?.id,
    type: visibleType(caller, query.type),
    search: query.search === '' ? undefined : query.search,
  };
  const page = toPage(query);
  const found = await mcpIntegrations.list(db, caller.organisationId, filter, page);
  const form = mount === 'v1' ? 'object' : 'text';
  const items = found.rows.map((row) => toListItem(row, form));
  return pageReply(items, page, found);
}

/** A caller who may list one kind only is shown that kind. */
function visibleType(
  caller: Principal,
  wanted: 'organisation' | 'workspace' | 'all',
): 'organisation' | 'workspace' | undefined {
  const [organisation, workspace] = eitherScope('list').map((scope) =>
    covers(caller.scopes, scope),
  );
  if (wanted === 'all') {
    if (organisation && workspace) return undefined;
    return organisation ? 'organisation' : 'workspace';
  }
  authorise(caller, `${wanted}_mcp_integrations.list`);
  return wanted;
}

async function get(deps: AdminDeps, request: ItemRequest) {
  const db = deps.database.readable;
  const row = await findIntegration(db, request, mcpIntegrations.findByIdOrSlug);
  await requireWorkspace(db, request.caller, row, request.query.workspace_id);
  requireScope(request.caller, row, 'read');
  return versioned(toRecord(row), row);
}

async function update(deps: AdminDeps, request: UpdateRequest) {
  const { caller, body, now } = request;
  requireUpdate(body);
  refuseFaults(mcpIntegrationFaults(body, deps.trustedHosts));
  await deps.database.transaction(async (tx) => {
    const row = await findIntegration(tx, request, mcpIntegrations.findByIdOrSlugForUpdate);
    await requireWorkspace(tx, caller, row, body.workspace_id);
    requireScope(caller, row, 'update');
    requireVersion(request, row.version);
    requireUnchanged('slug', body.slug, row.slug);
    const fields = changedFields(deps, row, body);
    const changed = Object.keys(fields);
    if (changed.length > 0) {
      const written = { ...fields, last_updated_at: now };
      await mcpIntegrations.update(tx, caller.organisationId, row.id, written);
    }
    await recordUpdate(tx, deps, request, { kind: 'McpIntegration', row, fields: changed });
  });
  return {};
}

async function remove(deps: AdminDeps, request: ItemRequest) {
  const { caller, query } = request;
  await deps.database.transaction(async (tx) => {
    const row = await findIntegration(tx, request, mcpIntegrations.findByIdOrSlugForUpdate);
    await requireWorkspace(tx, caller, row, query.workspace_id);
    requireScope(caller, row, 'delete');
    requireVersion(request, row.version);
    const server = await mcpServers.findByIntegration(tx, caller.organisationId, row.id);
    if (server !== undefined) {
      throw new ApiError('conflict', `The MCP server ${server.slug} uses this integration`);
    }
    await mcpCapabilities.deleteByIntegration(tx, caller.organisationId, row.id);
    await mcpIntegrations.deleteById(tx, caller.organisationId, row.id);
    await recordChange(tx, deps, request, {
      action: 'delete',
      kind: 'McpIntegration',
      resourceId: row.id,
      workspaceId: row.workspace_id,
      changes: { name: row.name },
    });
  });
  return {};
}

/** The integration the path names. */
export async function findIntegration(
  db: Db,
  { caller, params }: Pick<AdminRequest, 'caller' | 'params'>,
  find: typeof mcpIntegrations.findByIdOrSlug,
): Promise<mcpIntegrations.StoredMcpIntegration> {
  const found = await find(db, caller.organisationId, params.mcpIntegrationId!);
  return findOr404(caller, found);
}

/** Columns that the body gives another value. */
function changedFields(
  deps: AdminDeps,
  row: mcpIntegrations.StoredMcpIntegration,
  body: McpIntegrationUpdate,
) {
  const stored = readConfigurations(row);
  const configurations = sealed(deps, row.id, body.configurations, stored);
  const fields = {
    name: body.name ?? row.name,
    description: body.description === undefined ? row.description : emptyToNull(body.description),
    url: body.url ?? row.url,
    auth_type: body.auth_type ?? row.auth_type,
    transport: body.transport ?? row.transport,
    configurations:
      configurations === undefined || isDeepStrictEqual(configurations, stored)
        ? row.configurations
        : writeDocument(configurations),
    secret_mappings:
      body.secret_mappings === undefined ||
      isDeepStrictEqual(body.secret_mappings, readDocument(row.secret_mappings))
        ? row.secret_mappings
        : writeDocument(body.secret_mappings),
  };
  type Field = keyof typeof fields;
  const changed = (Object.keys(fields) as Field[]).filter((key) => fields[key] !== row[key]);
  return Object.fromEntries(changed.map((key) => [key, fields[key]]));
}

/** Undefined and null stay what they are: keep, and clear. */
function sealed(
  deps: AdminDeps,
  integrationId: string,
  sent: McpIntegrationUpdate['configurations'],
  stored: SealedConfigurations | null,
): SealedConfigurations | null | undefined {
  if (sent === undefined || sent === null) return sent;
  const sealing = sealConfigurations(deps.keyring, integrationId, sent, stored);
  if (sealing.faults.length > 0) throw faultsError(below(['configurations'], sealing.faults));
  return sealing.configurations;
}
