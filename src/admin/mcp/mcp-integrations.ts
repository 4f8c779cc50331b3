/** HTTP routes for MCP integrations (docs/reference/resources.md, MCP integrations). */

import { z } from 'zod';
import type { Sealer } from '../../auth/keyring.ts';
import { headerSecretLocations } from '../../auth/mcp-secrets.ts';
import type { Principal } from '../../auth/principal.ts';
import { sealSecrets } from '../../auth/secret-values.ts';
import type { Route } from '../../http/routes/route.ts';
import { mcpIntegrationFaults } from '../../model/mcp/mcp-configurations.ts';
import { McpIntegrationCreate, McpIntegrationUpdate } from '../../model/mcp/mcp-integration.ts';
import { mcpIntegrationTargets } from '../../model/mcp/mcp-secret-fields.ts';
import { workspaceIntegrationFaults } from '../../model/providers/integration-access.ts';
import { readMappings } from '../../model/secrets/secret-mapping.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { prefixFaults } from '../../model/wire/fault.ts';
import { newId } from '../../model/wire/ids.ts';
import { rewriteDocument, writeDocument } from '../../model/wire/json-record.ts';
import { pageQuery, pageReply, pageSchema, toPage } from '../../model/wire/paging.ts';
import { emptyToNull } from '../../model/wire/resource-fields.ts';
import { mapItems } from '../../model/wire/streamed-list.ts';
import { rejectFaults } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as mcpAuthorizations from '../../store/mcp/mcp-authorizations.ts';
import * as mcpCapabilities from '../../store/mcp/mcp-capabilities.ts';
import * as mcpConnections from '../../store/mcp/mcp-connections.ts';
import * as mcpDefinitions from '../../store/mcp/mcp-definitions.ts';
import * as mcpIntegrationWorkspaces from '../../store/mcp/mcp-integration-workspaces.ts';
import * as mcpIntegrations from '../../store/mcp/mcp-integrations.ts';
import * as mcpMetadata from '../../store/mcp/mcp-metadata.ts';
import * as mcpOAuthClients from '../../store/mcp/mcp-oauth-clients.ts';
import * as mcpServers from '../../store/mcp/mcp-servers.ts';
import type { RowCondition } from '../../store/rows/resource-table.ts';
import { resolveWorkspaceGrants } from '../access/granted-workspaces.ts';
import { resolveSecretMappings } from '../access/secret-mappings.ts';
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
  requireUnchanged,
  updateResource,
} from '../request/resource-change.ts';
import { resourceRoutes } from '../request/resource-routes.ts';
import { requireOwnOrganisation, resolveWorkspace } from '../request/scoping.ts';
import { insertUnderSlug } from '../request/slugs.ts';
import { withVersionTag } from '../request/version.ts';
import { findIntegration, integrationChanging, mcpScopes } from './mcp-access.ts';
import { disableAtIntegration } from './mcp-capability-changes.ts';
import { declareDefinitions } from './mcp-definition-changes.ts';
import { writeMcpGrants } from './mcp-integration-grants.ts';
import {
  findingsOfSnapshot,
  type GrantedMcpIntegration,
  McpIntegrationItem,
  McpIntegrationRecord,
  mcpIntegrationToListItem,
  mcpIntegrationToRecord,
  mcpIntegrationToSpec,
  readMcpConfigurations,
} from './mcp-integration-record.ts';
import {
  privateKeyFaults,
  requireSecretHosts,
  retainedClientSecretFaults,
  retainedHeaderFaults,
  type SealedConfigurations,
} from './mcp-secrets.ts';

const slugForm = { prefix: '', nameLengthMax: 40 };
/** Definitions that a snapshot reports, of all integrations. */
const findingsMax = 200;

/** Refused on every mount, even where other unknown fields are dropped. */
const command = z
  .never({ error: 'is for local programs, which are not supported; send a url' })
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

export const mcpIntegrationResource: Resource = {
  kind: 'McpIntegration',
  features: ['mcp'],
  routes: mcpIntegrationRoutes,
  snapshot: snapshotOf(listGranted, mcpIntegrationToSpec, findingsOfSnapshot),
  contents: mcpIntegrations.contents,
};

/** Reads all integrations with grants and disabled capabilities, with one query per table. */
async function listGranted(
  tx: Db,
  organisationId: string,
  which: RowCondition | null,
): Promise<GrantedMcpIntegration[]> {
  const rows = await mcpIntegrations.listAllForOrganisation(tx, organisationId, which);
  const grants = await mcpIntegrationWorkspaces.listAllForOrganisation(tx, organisationId);
  const disabled = await mcpCapabilities.listDisabled(tx, organisationId);
  const grantsOf = Map.groupBy(grants, ({ mcp_integration_id: id }) => id);
  const disabledOf = Map.groupBy(disabled, ({ mcp_integration_id: id }) => id);
  const { approvedOf, findingsOf } = await listDefinitions(tx, organisationId, rows);
  return rows.map((row) => ({
    ...row,
    grants: grantsOf.get(row.id) ?? [],
    disabled: disabledOf.get(row.id) ?? [],
    approved: row.definitions_from === 'declared' ? (approvedOf.get(row.id) ?? []) : null,
    findings: findingsOf.get(row.id) ?? [],
  }));
}

/** Approved definitions, where a manifest may declare them, and those that need attention, by integration. */
async function listDefinitions(
  tx: Db,
  organisationId: string,
  rows: readonly Pick<mcpIntegrations.StoredMcpIntegration, 'definitions_from'>[],
) {
  const isDeclared = rows.some((row) => row.definitions_from === 'declared');
  const approved = isDeclared ? await mcpDefinitions.listApproved(tx, organisationId) : [];
  const isPinned = rows.some((row) => row.definitions_from !== null);
  const findings = isPinned
    ? await mcpDefinitions.listFindings(tx, organisationId, findingsMax)
    : [];
  return {
    approvedOf: Map.groupBy(approved, ({ mcp_integration_id: id }) => id),
    findingsOf: Map.groupBy(findings, ({ mcp_integration_id: id }) => id),
  };
}

function mcpIntegrationRoutes(deps: AdminDeps): Route<Principal>[] {
  const on = resourceRoutes('/mcp-integrations/:mcpIntegrationId', mcpScopes.either);
  return [
    on.create({
      summary: 'Create an MCP integration; its server is not contacted',
      body: CreateBody,
      response: z.object({ id: z.uuid(), slug: z.string() }),
      handle: (request) => create(deps, request),
    }),
    on.list({
      summary: 'List MCP integrations',
      query: ListQuery,
      response: pageSchema(McpIntegrationItem),
      handle: (request) => list(deps, request),
    }),
    on.get({
      summary: 'Get an MCP integration; header values are masked',
      query: WorkspaceQuery,
      response: McpIntegrationRecord,
      handle: (request) => get(deps, request),
    }),
    on.update({
      summary:
        'Update an MCP integration; fields that are not sent stay, a masked header keeps its value',
      body: UpdateBody,
      ignoredFields: ['id'],
      response: z.object({}),
      handle: (request) => update(deps, request),
    }),
    on.remove({
      summary: 'Delete an MCP integration that no MCP server uses',
      handle: (request) => remove(deps, request),
    }),
  ];
}

async function create(deps: AdminDeps, request: BodyRequest<z.infer<typeof CreateBody>>) {
  const { caller, body, now } = request;
  rejectFaults(mcpIntegrationFaults(body, deps.trustedHosts));
  rejectFaults(privateKeyFaults(body.configurations));
  const id = newId();
  const sealer = await deps.keyring.sealerOf(caller.organisationId);
  const configurations = sealed(sealer, id, body.configurations, null);
  const { slug } = await createResource(deps, request, 'McpIntegration', async (tx, workspace) => {
    const placeless = {
      ...baseColumns(request, workspace),
      id,
      name: body.name,
      description: emptyToNull(body.description),
      url: body.url,
      auth_type: body.auth_type,
      transport: body.transport,
      configurations: writeDocument(configurations),
      global_workspace_access: writeDocument(body.global_workspace_access),
      definition_policy: body.definition_policy ?? null,
      disabled_client_capabilities: writeDocument(body.disabled_client_capabilities),
      definitions_from: null,
      status: 'active' as const,
      owner_id: caller.id,
    };
    mcpScopes.require(caller, placeless, 'create');
    if (workspace !== null) rejectFaults(workspaceIntegrationFaults(body));
    const mappings = await resolveSecretMappings(
      tx,
      placeless,
      body.secret_mappings,
      mcpIntegrationTargets,
    );
    await requireSecretHosts(tx, caller.organisationId, mappings ?? [], body);
    const unnamed = { ...placeless, secret_mappings: writeDocument(mappings) };
    const row = await insertUnderSlug(slugForm, body.slug, unnamed, (named) =>
      mcpIntegrations.insert(tx, named),
    );
    const grants = await resolveWorkspaceGrants(tx, caller.organisationId, body.workspaces ?? []);
    await writeMcpGrants(tx, { integration: row, isWhole: true, now }, grants);
    await disableAtIntegration(tx, row, body.disabled_capabilities ?? [], now);
    await declareDefinitions(tx, deps, request, row, body.approved_definitions);
    return { row, changes: { name: body.name } };
  });
  return { id, slug };
}

async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof ListQuery>>) {
  const { caller, query, mount } = request;
  const db = deps.database.readable;
  requireOwnOrganisation(caller, query.organisation_id);
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const filter = {
    workspaceId: workspace?.id,
    type: mcpScopes.visible(caller, query.type),
    search: query.search === '' ? undefined : query.search,
  };
  const page = toPage(query);
  const stored = await mcpIntegrations.list(db, caller.organisationId, filter, page);
  const form = mount === 'v1' ? 'object' : 'text';
  const metadata = await mcpMetadata.listByIntegrations(db, caller.organisationId, stored.ids);
  const metadataOf = new Map(metadata.map((row) => [row.mcp_integration_id, row]));
  const items = mapItems(stored.rows, (row) =>
    mcpIntegrationToListItem(row, form, metadataOf.get(row.id)),
  );
  return pageReply(items, page, { rows: stored.ids, total: stored.total });
}

async function get(deps: AdminDeps, request: ItemRequest) {
  const db = deps.database.readable;
  const row = await findIntegration(db, request, request.query.workspace_id);
  return withVersionTag(mcpIntegrationToRecord(row), row);
}

async function update(deps: AdminDeps, request: BodyRequest<z.infer<typeof UpdateBody>>) {
  const { caller, body, now } = request;
  rejectFaults(privateKeyFaults(body.configurations));
  const sealer = await deps.keyring.sealerOf(caller.organisationId);
  await updateResource(deps, request, integrationChanging, {
    columns: async (tx, row) => {
      requireUnchanged('slug', body.slug, row.slug);
      const { secret_mappings: sent = readMappings(row.secret_mappings) } = body;
      rejectFaults(mcpIntegrationFaults({ ...body, secret_mappings: sent }, deps.trustedHosts));
      if (row.workspace_id !== null) rejectFaults(workspaceIntegrationFaults(body));
      const stored = readMcpConfigurations(row);
      const isOther =
        body.url !== undefined && new URL(body.url).origin !== new URL(row.url).origin;
      rejectFaults(retainedClientSecretFaults(body.configurations, stored, isOther));
      if (isOther) {
        rejectFaults(retainedHeaderFaults(body.configurations, stored));
        const { organisation_id, id: mcp_integration_id } = row;
        await deps.mcpTokens.noteDeletion(tx, { organisation_id, mcp_integration_id });
        await mcpConnections.deleteByIntegration(tx, row.organisation_id, row.id);
        await mcpAuthorizations.deleteByIntegration(tx, row.organisation_id, row.id);
        await mcpMetadata.deleteByIntegration(tx, row.organisation_id, row.id);
      }
      const configurations = sealed(sealer, row.id, body.configurations, stored);
      const { oauth_client_secret: secret } = configurations ?? {};
      // Another secret may be for another authorization server.
      if (secret !== undefined && secret !== stored?.oauth_client_secret) {
        await mcpOAuthClients.deleteByIntegration(tx, row.organisation_id, row.id);
      }
      const secret_mappings = await changedMappings(tx, row, body, isOther);
      return {
        name: body.name,
        description:
          body.description === undefined ? row.description : emptyToNull(body.description),
        url: body.url,
        auth_type: body.auth_type,
        transport: body.transport,
        configurations: rewriteDocument(row.configurations, configurations),
        secret_mappings,
        global_workspace_access: rewriteDocument(
          row.global_workspace_access,
          body.global_workspace_access,
        ),
        definition_policy: body.definition_policy,
        disabled_client_capabilities: rewriteDocument(
          row.disabled_client_capabilities,
          body.disabled_client_capabilities,
        ),
      };
    },
    writeElsewhere: async (tx, row) => {
      const fields: string[] = [];
      if (body.workspaces !== undefined) {
        const grants = await resolveWorkspaceGrants(tx, caller.organisationId, body.workspaces);
        const writing = { integration: row, isWhole: true, now };
        if (await writeMcpGrants(tx, writing, grants)) fields.push('workspaces');
      }
      if (await declareDefinitions(tx, deps, request, row, body.approved_definitions)) {
        fields.push('approved_definitions');
      }
      if (body.disabled_capabilities === undefined) return fields;
      const count = await disableAtIntegration(tx, row, body.disabled_capabilities, now);
      return count > 0 ? [...fields, 'disabled_capabilities'] : fields;
    },
  });
  return {};
}

/** Returns the column of the mappings after an update, whose secrets may be sent where they would go. */
async function changedMappings(
  tx: Db,
  row: mcpIntegrations.StoredMcpIntegration,
  { url, configurations, secret_mappings: sent }: z.infer<typeof UpdateBody>,
  isOtherServer: boolean,
): Promise<string | null | undefined> {
  const mappings = await resolveSecretMappings(tx, row, sent, mcpIntegrationTargets);
  const column = rewriteDocument(row.secret_mappings, mappings);
  const isRemapped = (column ?? null) !== row.secret_mappings;
  if (isRemapped) await mcpOAuthClients.deleteByIntegration(tx, row.organisation_id, row.id);
  if (isOtherServer || isRemapped || configurations !== undefined) {
    await requireSecretHosts(tx, row.organisation_id, readMappings(column ?? null), {
      url: url ?? row.url,
      configurations: configurations === undefined ? readMcpConfigurations(row) : configurations,
    });
  }
  return column;
}

async function remove(deps: AdminDeps, request: ItemRequest) {
  return deleteResource(deps, request, integrationChanging, async (tx, row) => {
    const server = await mcpServers.findByIntegration(tx, row.organisation_id, row.id);
    if (server !== undefined) {
      throw new ApiError('conflict', `The MCP server ${server.slug} uses this integration`);
    }
    await mcpCapabilities.deleteByIntegration(tx, row.organisation_id, row.id);
    await mcpDefinitions.deleteByIntegration(tx, row.organisation_id, row.id);
    await mcpIntegrationWorkspaces.deleteByIntegration(tx, row.organisation_id, row.id);
    await mcpMetadata.deleteByIntegration(tx, row.organisation_id, row.id);
    await mcpOAuthClients.deleteByIntegration(tx, row.organisation_id, row.id);
    await mcpIntegrations.deleteById(tx, row.organisation_id, row.id);
    return { name: row.name };
  });
}

/** Undefined (keep) and null (clear) are returned unchanged. */
function sealed(
  sealer: Sealer,
  integrationId: string,
  sent: McpIntegrationUpdate['configurations'],
  stored: SealedConfigurations | null,
): SealedConfigurations | null | undefined {
  if (sent === undefined || sent === null) return sent;
  const sealing = sealSecrets(sealer, headerSecretLocations(integrationId), sent, stored);
  rejectFaults(prefixFaults(['configurations'], sealing.faults));
  return sealing.document;
}
