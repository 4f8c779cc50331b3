/** Knows what MCP integrations and servers offer, over HTTP: capabilities and metadata (docs/api.md, MCP integrations). */

import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/route.ts';
import { documentBody } from '../../model/body-limits.ts';
import type { Fault } from '../../model/fault.ts';
import { newId } from '../../model/ids.ts';
import { LongList } from '../../model/long-list.ts';
import { McpCapabilitiesPut, McpCapabilityType } from '../../model/mcp-integration.ts';
import { wholeNumber } from '../../model/paging.ts';
import { AnsweredTimestamp, formatTimestamp } from '../../model/timestamp.ts';
import { refuseFaults } from '../../model/validation-error.ts';
import * as mcpCapabilities from '../../store/tables/mcp-capabilities.ts';
import * as mcpIntegrations from '../../store/tables/mcp-integrations.ts';
import { recordChange } from '../request/change.ts';
import { type AdminDeps, everyMount, forOwners } from '../request/deps.ts';
import {
  type BodyRequest,
  type QueryRequest,
  updateFields,
  WorkspaceQuery,
} from '../request/frame-fields.ts';
import { requireWorkspace } from '../request/scoping.ts';
import { findIntegration, mcpScopes } from './mcp-access.ts';
import { CapabilityCounts, countCapabilities } from './mcp-capability-counts.ts';

const pageSizeMax = 500;

const PutBody = McpCapabilitiesPut.extend({ workspace_id: updateFields.workspace_id });
const ListQuery = WorkspaceQuery.extend({
  type: McpCapabilityType.optional(),
  /** Counted from 1, unlike other lists (docs/api.md, Paging). */
  page: wholeNumber(1, 1_000_000).default(1),
  page_size: wholeNumber(1, pageSizeMax).default(100),
});

const PutReceipt = z.object({ success: z.literal(true) });
const JsonObject = z.record(z.string(), z.unknown());
const Capability = z.object({
  id: z.uuid(),
  name: z.string(),
  type: McpCapabilityType,
  enabled: z.boolean(),
  created_at: AnsweredTimestamp,
  last_updated_at: AnsweredTimestamp,
  /** From here on what the server says of it, and nobody has asked the server yet. */
  title: z.string().nullable(),
  description: z.string().nullable(),
  icons: z.array(z.unknown()).nullable(),
  input_schema: JsonObject.nullable(),
  output_schema: JsonObject.nullable(),
  execution: JsonObject.nullable(),
  annotations: JsonObject.nullable(),
  object: z.literal('mcp-capability'),
});
const CapabilityList = z.object({
  object: z.literal('list'),
  data: z.array(Capability),
  total: z.int().min(0),
  has_more: z.boolean(),
  counts: CapabilityCounts,
});

type ListRequest = QueryRequest<z.infer<typeof ListQuery>>;
type PutRequest = BodyRequest<z.infer<typeof PutBody>>;

export function mcpCapabilityRoutes(deps: AdminDeps): Route<Principal>[] {
  const shared = {
    mounts: everyMount,
    path: '/mcp-integrations/:mcpIntegrationId/capabilities',
  } as const;
  return [
    route({
      ...shared,
      method: 'GET',
      scope: mcpScopes.either('read'),
      summary: 'List the tools, prompts and resources of an MCP integration',
      query: ListQuery,
      response: CapabilityList,
      handle: (request) => list(deps, request),
    }),
    route({
      ...shared,
      ...forOwners,
      method: 'PUT',
      scope: mcpScopes.either('update'),
      summary: 'Enable or disable capabilities; unknown ones are added',
      body: PutBody,
      bodyLimits: documentBody,
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
  mcpScopes.require(caller, row, 'read');
  const page = { limit: query.page_size, offset: query.page_size * (query.page - 1) };
  const filter = { integrationId: row.id, type: query.type };
  const found = await mcpCapabilities.list(db, caller.organisationId, filter, page);
  return new LongList<z.infer<typeof CapabilityList>>(
    { object: 'list' },
    'data',
    found.rows.values().map(toRecord),
    {
      total: found.total,
      has_more: page.offset + found.rows.length < found.total,
      counts: await countCapabilities(db, row),
    },
  );
}

async function put(deps: AdminDeps, request: PutRequest): Promise<z.infer<typeof PutReceipt>> {
  const { caller, body, now } = request;
  refuseFaults(repeated(body.capabilities));
  await deps.database.transaction(async (tx) => {
    const row = await findIntegration(tx, request, mcpIntegrations.findByIdOrSlugForUpdate);
    await requireWorkspace(tx, caller, row, body.workspace_id);
    mcpScopes.require(caller, row, 'update');
    const known = await mcpCapabilities.listByIntegration(tx, caller.organisationId, row.id);
    const enabledOf = new Map(known.map((one) => [identityOf(one), one.enabled !== 0]));
    const changed = body.capabilities.filter(
      (capability) => enabledOf.get(identityOf(capability)) !== capability.enabled,
    );
    if (changed.length === 0) return;
    await mcpCapabilities.upsertMany(
      tx,
      changed.map(({ name, type, enabled }) => ({
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
      changes: { capabilities: changed.length },
    });
  });
  return { success: true };
}

function repeated(capabilities: McpCapabilitiesPut['capabilities']): Fault[] {
  const seen = new Set<string>();
  return capabilities.flatMap((capability, at) => {
    const identity = identityOf(capability);
    if (seen.has(identity)) return [{ path: ['capabilities', at], message: 'is named twice' }];
    seen.add(identity);
    return [];
  });
}

function identityOf({ type, name }: { readonly type: string; readonly name: string }): string {
  return `${type} ${name}`;
}

function toRecord(row: mcpCapabilities.StoredMcpCapability): z.infer<typeof Capability> {
  return {
    id: row.id,
    name: row.name,
    type: row.type,
    enabled: row.enabled !== 0,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
    title: null,
    description: null,
    icons: null,
    input_schema: null,
    output_schema: null,
    execution: null,
    annotations: null,
    object: 'mcp-capability',
  };
}
