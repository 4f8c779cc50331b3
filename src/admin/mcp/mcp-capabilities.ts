/** Knows what MCP integrations and servers offer, over HTTP: capabilities and metadata (contract.md 2.8). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/route.ts';
import type { Fault } from '../../model/fault.ts';
import { newId } from '../../model/ids.ts';
import { McpCapabilitiesPut, McpCapabilityType } from '../../model/mcp-integration.ts';
import { wholeNumber } from '../../model/paging.ts';
import { formatTimestamp } from '../../model/timestamp.ts';
import type { Db } from '../../store/connection/db.ts';
import * as mcpCapabilities from '../../store/tables/mcp-capabilities.ts';
import * as mcpIntegrations from '../../store/tables/mcp-integrations.ts';
import {
  refuseFaults,
  requireWorkspace,
  updateFields,
  WorkspaceQuery,
} from '../request/body-fields.ts';
import { recordChange } from '../request/change.ts';
import { type AdminDeps, type AdminRequest, everyMount } from '../request/deps.ts';
import { eitherScope, findIntegration, requireScope } from './mcp-integrations.ts';

const pageSizeMax = 500;

const PutBody = McpCapabilitiesPut.extend({ workspace_id: updateFields.workspace_id });
const ListQuery = WorkspaceQuery.extend({
  type: McpCapabilityType.optional(),
  /** Counted from 1, unlike other lists (contract.md 1.5). */
  page: wholeNumber(1, 1_000_000).default(1),
  page_size: wholeNumber(1, pageSizeMax).default(100),
});

const PutReceipt = z.object({ success: z.literal(true) });
const Capability = z.object({
  id: z.uuid(),
  name: z.string(),
  type: McpCapabilityType,
  enabled: z.boolean(),
  created_at: z.string(),
  last_updated_at: z.string(),
});
const Count = z.object({ total: z.int(), enabled: z.int() });
const CapabilityList = z.object({
  data: z.array(Capability),
  total: z.int(),
  has_more: z.boolean(),
  counts: z.object({ tools: Count, prompts: Count, resources: Count, resource_templates: Count }),
});

type Params = Record<string, string>;
type ListRequest = AdminRequest<Params, z.infer<typeof ListQuery>, undefined>;
type PutRequest = AdminRequest<Params, undefined, z.infer<typeof PutBody>>;

export function mcpCapabilityRoutes(deps: AdminDeps): Route<Principal>[] {
  const shared = {
    mounts: everyMount,
    path: '/mcp-integrations/:mcpIntegrationId/capabilities',
  } as const;
  return [
    route({
      ...shared,
      method: 'GET',
      scope: eitherScope('read'),
      summary: 'List the tools, prompts and resources of an MCP integration',
      query: ListQuery,
      response: CapabilityList,
      handle: (request) => list(deps, request),
    }),
    route({
      ...shared,
      method: 'PUT',
      scope: eitherScope('update'),
      summary: 'Enable or disable capabilities; unknown ones are added',
      body: PutBody,
      response: PutReceipt,
      handle: (request) => put(deps, request),
    }),
  ];
}

async function list(deps: AdminDeps, request: ListRequest) {
  const { caller, query } = request;
  const db = deps.database.readable;
  const row = await findIntegration(db, request, mcpIntegrations.findByIdOrSlug);
  await requireWorkspace(db, caller, row, query.workspace_id);
  requireScope(caller, row, 'read');
  const page = { limit: query.page_size, offset: query.page_size * (query.page - 1) };
  const filter = { integrationId: row.id, type: query.type };
  const found = await mcpCapabilities.list(db, caller.organisationId, filter, page);
  return {
    data: found.rows.map(toRecord),
    total: found.total,
    has_more: page.offset + found.rows.length < found.total,
    counts: await countCapabilities(db, row),
  };
}

async function put(deps: AdminDeps, request: PutRequest): Promise<z.infer<typeof PutReceipt>> {
  const { caller, body, now } = request;
  refuseFaults(repeated(body.capabilities));
  await deps.database.transaction(async (tx) => {
    const row = await findIntegration(tx, request, mcpIntegrations.findByIdOrSlugForUpdate);
    await requireWorkspace(tx, caller, row, body.workspace_id);
    requireScope(caller, row, 'update');
    await mcpCapabilities.upsertMany(
      tx,
      body.capabilities.map(({ name, type, enabled }) => ({
        id: newId(),
        organisation_id: caller.organisationId,
        mcp_integration_id: row.id,
        type,
        name,
        enabled: enabled ? 1 : 0,
        created_at: now,
        last_updated_at: now,
      })),
    );
    await recordChange(tx, deps, request, {
      action: 'update',
      kind: 'McpIntegration',
      resourceId: row.id,
      workspaceId: row.workspace_id,
      changes: { capabilities: body.capabilities.length },
    });
  });
  return { success: true };
}

function repeated(capabilities: McpCapabilitiesPut['capabilities']): Fault[] {
  const seen = new Set<string>();
  return capabilities.flatMap(({ type, name }, at) => {
    const identity = `${type} ${name}`;
    if (seen.has(identity)) return [{ path: ['capabilities', at], message: 'is named twice' }];
    seen.add(identity);
    return [];
  });
}

type Counts = z.infer<typeof CapabilityList>['counts'];

/** What an integration offers, by type; resource templates are not told apart yet. */
export async function countCapabilities(
  db: Db,
  integration: Pick<mcpIntegrations.StoredMcpIntegration, 'id' | 'organisation_id'>,
): Promise<Counts> {
  const rows = await mcpCapabilities.listCounts(db, integration.organisation_id, integration.id);
  const countOf = (type: z.infer<typeof McpCapabilityType>): z.infer<typeof Count> => {
    const row = rows.find((one) => one.type === type);
    return { total: row?.total ?? 0, enabled: row?.enabled ?? 0 };
  };
  return {
    tools: countOf('tool'),
    prompts: countOf('prompt'),
    resources: countOf('resource'),
    resource_templates: { total: 0, enabled: 0 },
  };
}

function toRecord(row: mcpCapabilities.StoredMcpCapability): z.infer<typeof Capability> {
  return {
    id: row.id,
    name: row.name,
    type: row.type,
    enabled: row.enabled !== 0,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
  };
}
