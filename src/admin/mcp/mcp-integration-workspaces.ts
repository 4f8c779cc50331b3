/** HTTP routes for the workspaces that may use an MCP integration of the organisation. */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Reply, type Route, route } from '../../http/routes/route.ts';
import { McpIntegrationWorkspacesPut } from '../../model/mcp/mcp-integration.ts';
import {
  isOpenToAll,
  workspaceIntegrationFaults,
} from '../../model/providers/integration-access.ts';
import { rewriteDocument } from '../../model/wire/json-record.ts';
import { pageQuery, toPage } from '../../model/wire/paging.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import { rejectFaults } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as grants from '../../store/mcp/mcp-integration-workspaces.ts';
import type * as mcpIntegrations from '../../store/mcp/mcp-integrations.ts';
import { resolveWorkspaceGrants } from '../access/granted-workspaces.ts';
import { type AdminDeps, everyMount, forOwners } from '../request/deps.ts';
import {
  type BodyRequest,
  type QueryRequest,
  updateFields,
  WorkspaceQuery,
} from '../request/frame-fields.ts';
import { updateResource } from '../request/resource-change.ts';
import { withVersionTag } from '../request/version.ts';
import { findIntegration, integrationChanging, mcpScopes } from './mcp-access.ts';
import { type ResolvedMcpGrant, writeMcpGrants } from './mcp-integration-grants.ts';

const path = '/mcp-integrations/:mcpIntegrationId/workspaces';
/** Clients request all of them at once. */
const pageSizeMax = 1000;

const PutBody = McpIntegrationWorkspacesPut.extend({ workspace_id: updateFields.workspace_id });
const ListQuery = WorkspaceQuery.extend({
  /** Any text selects the newer format with the list in `data`. */
  version: z.string().max(64).optional(),
  ...pageQuery({ sizeDefault: pageSizeMax, sizeMax: pageSizeMax }),
});

const Grant = z.object({
  /** Id of the workspace. */
  id: z.uuid(),
  enabled: z.boolean(),
  status: z.literal('active'),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
});
const frame = {
  object: z.literal('list'),
  total: z.int().min(0),
  global_workspace_access: z.object({ enabled: z.boolean() }),
};
const GrantList = z.union([
  z.object({ ...frame, workspaces: z.array(Grant) }),
  z.object({ ...frame, data: z.array(Grant) }),
]);

type PutRequest = BodyRequest<z.infer<typeof PutBody>>;

export function mcpIntegrationWorkspaceRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      mounts: everyMount,
      method: 'GET',
      path,
      scope: mcpScopes.either('read'),
      summary: 'List the workspace grants of an MCP integration',
      query: ListQuery,
      response: GrantList,
      handle: (request) => list(deps, request),
    }),
    route({
      mounts: everyMount,
      ...forOwners,
      method: 'PUT',
      path,
      versioned: true,
      scope: mcpScopes.either('update'),
      summary: 'Grant or deny workspaces the use of an MCP integration; others stay as they are',
      body: PutBody,
      response: z.object({}),
      handle: (request) => put(deps, request),
    }),
  ];
}

async function list(
  deps: AdminDeps,
  request: QueryRequest<z.infer<typeof ListQuery>>,
): Promise<Reply<z.infer<typeof GrantList>>> {
  const { caller, query } = request;
  const db = deps.database.readable;
  const row = await findIntegration(db, request, query.workspace_id);
  const page =
    row.workspace_id === null
      ? await grants.list(db, caller.organisationId, row.id, toPage(query))
      : { rows: [{ ...row, workspace_id: row.workspace_id, enabled: 1 }], total: 1 };
  const items = page.rows.map((grant) => ({
    id: grant.workspace_id,
    enabled: grant.enabled !== 0,
    status: 'active' as const,
    created_at: formatTimestamp(grant.created_at),
    last_updated_at: formatTimestamp(grant.last_updated_at),
  }));
  const shared = {
    object: 'list' as const,
    total: page.total,
    global_workspace_access: { enabled: row.workspace_id === null && isOpenToAll(row) },
  };
  const isOlder = query.version === undefined;
  return withVersionTag(
    isOlder ? { ...shared, workspaces: items } : { ...shared, data: items },
    row,
  );
}

async function put(deps: AdminDeps, request: PutRequest): Promise<Record<string, never>> {
  const { body, now } = request;
  await updateResource(deps, request, integrationChanging, {
    columns: (_, row) => {
      if (row.workspace_id !== null) rejectFaults(workspaceIntegrationFaults(body));
      const { global_workspace_access: access } = body;
      return { global_workspace_access: rewriteDocument(row.global_workspace_access, access) };
    },
    writeElsewhere: async (tx, row) => {
      const sent = await resolveWorkspaceGrants(tx, row.organisation_id, body.workspaces ?? []);
      const all = [...(await overriddenGrants(tx, row, body, sent)), ...sent];
      const writing = { integration: row, isWhole: false, now };
      return (await writeMcpGrants(tx, writing, all)) ? ['workspaces'] : [];
    },
  });
  return {};
}

/** With `override_existing_workspace_access`, existing grants get the global setting. */
async function overriddenGrants(
  tx: Db,
  row: mcpIntegrations.StoredMcpIntegration,
  body: PutRequest['body'],
  sent: readonly ResolvedMcpGrant[],
): Promise<ResolvedMcpGrant[]> {
  const { override_existing_workspace_access: overrides, global_workspace_access: access } = body;
  if (overrides !== true || access === undefined) return [];
  const named = new Set(sent.map(({ workspaceId }) => workspaceId));
  const stored = await grants.listByIntegration(tx, row.organisation_id, row.id);
  return stored
    .filter(({ workspace_id: id }) => !named.has(id))
    .map(({ workspace_id: workspaceId }) => ({ workspaceId, enabled: access?.enabled ?? true }));
}
