/**
 * HTTP routes for MCP servers: a workspace's use of an MCP integration (docs/reference/resources.md, MCP
 * servers).
 */

import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/routes/route.ts';
import { McpServerCreate, McpServerUpdate } from '../../model/mcp/mcp-server.ts';
import { commaList } from '../../model/wire/comma-list.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { rewriteDocument, writeDocument } from '../../model/wire/json-record.ts';
import { pageQuery, pageReply, pageSchema, toPage } from '../../model/wire/paging.ts';
import { emptyToNull } from '../../model/wire/resource-fields.ts';
import { isUuid } from '../../model/wire/slug-forms.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as mcpAuthorizations from '../../store/mcp/mcp-authorizations.ts';
import * as mcpConnections from '../../store/mcp/mcp-connections.ts';
import * as mcpIntegrations from '../../store/mcp/mcp-integrations.ts';
import * as mcpMetadata from '../../store/mcp/mcp-metadata.ts';
import * as serverCapabilities from '../../store/mcp/mcp-server-capabilities.ts';
import * as serverUsers from '../../store/mcp/mcp-server-users.ts';
import * as mcpServers from '../../store/mcp/mcp-servers.ts';
import * as guardrailMappings from '../../store/resources/guardrail-mappings.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import type { RowCondition } from '../../store/rows/resource-table.ts';
import type { AdminDeps } from '../request/deps.ts';
import {
  type BodyRequest,
  createFields,
  type ItemRequest,
  type QueryRequest,
  updateFields,
  WorkspaceQuery,
} from '../request/frame-fields.ts';
import { type Resource, snapshotOf } from '../request/resource.ts';
import {
  baseColumns,
  createResource,
  deleteResource,
  updateResource,
} from '../request/resource-change.ts';
import { resourceRoutes } from '../request/resource-routes.ts';
import {
  requireOwnOrganisation,
  resolveWorkspace,
  resolveWorkspaceForWrite,
} from '../request/scoping.ts';
import { insertUnderSlug } from '../request/slugs.ts';
import { withVersionTag } from '../request/version.ts';
import { findServer, listGranted, requireGranted, serverChanging } from './mcp-access.ts';
import { disableAtServer } from './mcp-capability-changes.ts';
import {
  McpServerListItem,
  McpServerRecord,
  mcpServerToListItem,
  mcpServerToRecord,
  mcpServerToSpec,
  type OpenedMcpServer,
} from './mcp-server-record.ts';
import { writeUserAccess } from './mcp-user-changes.ts';

const slugForm = { prefix: '', nameLengthMax: 40 };
const idsMax = 100;

const CreateBody = McpServerCreate.extend(createFields);
const UpdateBody = McpServerUpdate.extend(updateFields);
const ListQuery = WorkspaceQuery.extend({
  organisation_id: createFields.organisation_id,
  /** Comma-separated; texts that are no ids match nothing. */
  id: z
    .string()
    .transform((text) => commaList(text.toLowerCase()))
    .pipe(z.array(z.string()).max(idsMax))
    .optional(),
  search: z.string().max(255).optional(),
  ...pageQuery(),
});

export const mcpServerResource: Resource = {
  kind: 'McpServer',
  features: ['mcp'],
  routes: mcpServerRoutes,
  snapshot: snapshotOf(listOpened, mcpServerToSpec),
  contents: mcpServers.contents,
};

/** Reads all servers with disabled capabilities and user settings, with one query per table. */
async function listOpened(
  tx: Db,
  organisationId: string,
  which: RowCondition | null,
): Promise<OpenedMcpServer[]> {
  const rows = await mcpServers.listAllForOrganisation(tx, organisationId, which);
  const disabled = await serverCapabilities.listDisabled(tx, organisationId);
  const people = await serverUsers.listAllForOrganisation(tx, organisationId);
  const disabledOf = Map.groupBy(disabled, ({ mcp_server_id: id }) => id);
  const peopleOf = Map.groupBy(people, ({ mcp_server_id: id }) => id);
  return rows.map((row) => ({
    ...row,
    disabled: disabledOf.get(row.id) ?? [],
    people: peopleOf.get(row.id) ?? [],
  }));
}

function mcpServerRoutes(deps: AdminDeps): Route<Principal>[] {
  const on = resourceRoutes('/mcp-servers/:mcpServerId', (action) => `mcp_servers.${action}`);
  return [
    on.create({
      summary: 'Create an MCP server: let a workspace use an MCP integration',
      body: CreateBody,
      response: z.object({ id: z.uuid(), slug: z.string() }),
      handle: (request) => create(deps, request),
    }),
    on.list({
      summary: 'List MCP servers',
      query: ListQuery,
      response: pageSchema(McpServerListItem),
      handle: (request) => list(deps, request),
    }),
    on.get({
      summary: 'Get an MCP server with its integration; header values are masked',
      query: WorkspaceQuery,
      response: McpServerRecord,
      handle: (request) => get(deps, request),
    }),
    on.update({
      summary: 'Update an MCP server; fields that are not sent stay',
      body: UpdateBody,
      ignoredFields: ['id', 'slug'],
      response: z.object({}),
      handle: (request) => update(deps, request),
    }),
    on.remove({
      summary: 'Delete an MCP server and its guardrail mappings',
      handle: (request) => remove(deps, request),
    }),
  ];
}

async function create(deps: AdminDeps, request: BodyRequest<z.infer<typeof CreateBody>>) {
  const { caller, body, now } = request;
  const { id, slug } = await createResource(deps, request, 'McpServer', async (tx, named) => {
    const workspace = named ?? (await onlyWorkspace(tx, caller, body.mcp_integration_id));
    const integration = await findUsable(tx, caller, workspace.id, body.mcp_integration_id);
    const unnamed = {
      ...baseColumns(request, workspace),
      mcp_integration_id: integration.id,
      name: body.name,
      description: emptyToNull(body.description),
      default_user_access: body.default_user_access ?? null,
      definition_policy: body.definition_policy ?? null,
      disabled_client_capabilities: writeDocument(body.disabled_client_capabilities),
      status: 'active' as const,
    };
    const row = await insertUnderSlug(slugForm, body.slug, unnamed, (named) =>
      mcpServers.insert(tx, named),
    );
    await disableAtServer(tx, row, body.disabled_capabilities ?? [], now);
    await writeUserAccess(tx, { server: row, isWhole: true, now }, peopleOf(body));
    return { row, changes: { name: body.name, mcp_integration: integration.slug } };
  });
  return { id, slug };
}

/** The only workspace that may use the integration. */
async function onlyWorkspace(
  tx: Db,
  caller: Principal,
  reference: string,
): Promise<workspaces.StoredWorkspace> {
  const { organisationId } = caller;
  const integration = await mcpIntegrations.findByIdOrSlug(tx, organisationId, reference);
  if (integration === undefined) throw new ApiError('notFound', undefined, 'mcp_integration_id');
  const [id, ...others] = await listGranted(tx, integration);
  const only = others.length === 0 ? id : undefined;
  const workspace = await resolveWorkspaceForWrite(tx, caller, only, 'shared');
  if (workspace !== null) return workspace;
  const message = 'is required unless exactly one workspace may use the integration';
  throw validationError({ path: ['workspace_id'], message });
}

/** Finds an integration that the workspace may use and locks it until the transaction ends. */
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
  await requireGranted(tx, row, workspaceId, 'mcp_integration_id');
  return row;
}

async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof ListQuery>>) {
  const { caller, query } = request;
  const { organisationId } = caller;
  const db = deps.database.readable;
  requireOwnOrganisation(caller, query.organisation_id);
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const ids = query.id?.filter(isUuid);
  const page = toPage(query);
  const servers =
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
  const integrationIds = [...new Set(servers.rows.map((row) => row.mcp_integration_id))];
  const integrations = await mcpIntegrations.listByIds(db, organisationId, integrationIds);
  const integrationById = new Map(integrations.map((row) => [row.id, row]));
  const metadata = await mcpMetadata.listByIntegrations(db, organisationId, integrationIds);
  const metadataOf = new Map(metadata.map((row) => [row.mcp_integration_id, row]));
  const places = await workspaces.listAllForOrganisation(db, organisationId);
  const placeById = new Map(places.map((row) => [row.id, row]));
  // A server whose integration was deleted between the two reads is being deleted too.
  const data = servers.rows.values().flatMap((row) => {
    const integration = integrationById.get(row.mcp_integration_id);
    return integration === undefined
      ? []
      : [
          mcpServerToListItem(
            row,
            integration,
            placeById.get(row.workspace_id),
            metadataOf.get(integration.id),
          ),
        ];
  });
  return pageReply(data, page, servers);
}

async function get(deps: AdminDeps, request: ItemRequest) {
  const { caller, query } = request;
  const db = deps.database.readable;
  const row = await findServer(db, request, query.workspace_id);
  const integration = await mcpIntegrations.findByIdOrSlug(
    db,
    caller.organisationId,
    row.mcp_integration_id,
  );
  if (integration === undefined) throw new ApiError('notFound');
  return withVersionTag(mcpServerToRecord(row, integration), row);
}

async function update(deps: AdminDeps, request: BodyRequest<z.infer<typeof UpdateBody>>) {
  const { body, now } = request;
  const { name, description, default_user_access, definition_policy } = body;
  await updateResource(deps, request, serverChanging, {
    columns: (_, row) => ({
      name,
      description: description === undefined ? row.description : emptyToNull(description),
      default_user_access,
      definition_policy,
      disabled_client_capabilities: rewriteDocument(
        row.disabled_client_capabilities,
        body.disabled_client_capabilities,
      ),
    }),
    writeElsewhere: async (tx, row) => {
      const fields: string[] = [];
      const { disabled_capabilities: disabled, user_access: people } = body;
      if (disabled !== undefined && (await disableAtServer(tx, row, disabled, now)) > 0) {
        fields.push('disabled_capabilities');
      }
      const writing = { server: row, isWhole: true, now };
      if (people !== undefined && (await writeUserAccess(tx, writing, peopleOf(body)))) {
        fields.push('user_access');
      }
      return fields;
    },
  });
  return {};
}

function peopleOf({ user_access: people = [] }: Pick<McpServerUpdate, 'user_access'>) {
  return people.map(({ user_id: userId, enabled }) => ({ userId: userId.toLowerCase(), enabled }));
}

async function remove(deps: AdminDeps, request: ItemRequest) {
  return deleteResource(deps, request, serverChanging, async (tx, row) => {
    const { organisation_id: organisationId } = row;
    const mappings = await guardrailMappings.listByServer(tx, organisationId, row.id);
    await guardrailMappings.deleteWithClaims(tx, organisationId, mappings);
    await serverCapabilities.deleteByServer(tx, organisationId, row.id);
    await serverUsers.deleteByServer(tx, organisationId, row.id);
    const connected = { organisation_id: organisationId, mcp_server_id: row.id };
    await deps.mcpTokens.noteDeletion(tx, connected);
    await mcpConnections.deleteByServer(tx, organisationId, row.id);
    await mcpAuthorizations.deleteByServer(tx, organisationId, row.id);
    await mcpServers.deleteById(tx, organisationId, row.id);
    return { name: row.name, mappings: mappings.length };
  });
}
