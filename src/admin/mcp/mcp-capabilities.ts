/**
 * HTTP routes for the capabilities of MCP integrations and servers (docs/reference/resources.md, MCP
 * integrations).
 */

import type { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { documentBodyLimits } from '../../model/json/body-limits.ts';
import { McpCapabilitiesPut } from '../../model/mcp/mcp-integration.ts';
import { toPageFromOne } from '../../model/wire/paging.ts';
import { rejectFaults } from '../../model/wire/validation-error.ts';
import * as mcpCapabilities from '../../store/mcp/mcp-capabilities.ts';
import * as serverCapabilities from '../../store/mcp/mcp-server-capabilities.ts';
import { type AdminDeps, everyMount, forOwners } from '../request/deps.ts';
import { type BodyRequest, type QueryRequest, updateFields } from '../request/frame-fields.ts';
import { updateResource } from '../request/resource-change.ts';
import { withVersionTag } from '../request/version.ts';
import {
  findIntegration,
  findServer,
  integrationChanging,
  mcpScopes,
  serverChanging,
} from './mcp-access.ts';
import { putAtIntegration, putAtServer } from './mcp-capability-changes.ts';
import { toCounts } from './mcp-capability-counts.ts';
import {
  CapabilityList,
  CapabilityQuery,
  CapabilityReceipt,
  capabilityReply,
  identityOf,
  mcpCapabilityToRecord,
  mcpCapabilityToServedRecord,
  mcpCapabilityToUnknownRecord,
  repeatedFaults,
  ServedCapabilityList,
} from './mcp-capability-record.ts';

const PutBody = McpCapabilitiesPut.extend({ workspace_id: updateFields.workspace_id });

type ListRequest = QueryRequest<z.infer<typeof CapabilityQuery>>;
type PutRequest = BodyRequest<z.infer<typeof PutBody>>;

export function mcpCapabilityRoutes(deps: AdminDeps): Route<Principal>[] {
  const ofIntegration = {
    mounts: everyMount,
    path: '/mcp-integrations/:mcpIntegrationId/capabilities',
  } as const;
  const ofServer = { mounts: everyMount, path: '/mcp-servers/:mcpServerId/capabilities' } as const;
  const reading = { method: 'GET', query: CapabilityQuery } as const;
  const putting = {
    ...forOwners,
    method: 'PUT',
    versioned: true,
    body: PutBody,
    bodyLimits: documentBodyLimits,
    response: CapabilityReceipt,
  } as const;
  return [
    route({
      ...ofIntegration,
      ...reading,
      scope: mcpScopes.either('read'),
      summary: 'List the tools, prompts and resources of an MCP integration',
      response: CapabilityList,
      handle: (request) => list(deps, request),
    }),
    route({
      ...ofIntegration,
      ...putting,
      scope: mcpScopes.either('update'),
      summary: 'Enable or disable capabilities; unknown ones are added',
      handle: (request) => put(deps, request),
    }),
    route({
      ...ofServer,
      ...reading,
      scope: 'mcp_servers.read',
      summary: 'List the tools, prompts and resources of an MCP server',
      response: ServedCapabilityList,
      handle: (request) => listServed(deps, request),
    }),
    route({
      ...ofServer,
      ...putting,
      scope: 'mcp_servers.update',
      summary: 'Enable or disable capabilities on one MCP server, overriding its integration',
      handle: (request) => putServed(deps, request),
    }),
  ];
}

async function list(deps: AdminDeps, request: ListRequest) {
  const { caller, query } = request;
  const db = deps.database.readable;
  const row = await findIntegration(db, request, query.workspace_id);
  const page = toPageFromOne(query);
  const { organisationId } = caller;
  const filter = { integrationId: row.id, type: query.type };
  const { rows, total } = await mcpCapabilities.list(db, organisationId, filter, page);
  const counts = toCounts(await mcpCapabilities.listCounts(db, organisationId, row.id));
  const counted = { length: rows.length, total };
  return withVersionTag(
    capabilityReply(rows.values().map(mcpCapabilityToRecord), counted, page, counts),
    row,
  );
}

async function put(deps: AdminDeps, request: PutRequest) {
  const { body, now } = request;
  rejectFaults(repeatedFaults(body.capabilities));
  await updateResource(deps, request, integrationChanging, {
    columns: () => ({}),
    writeElsewhere: async (tx, row) =>
      (await putAtIntegration(tx, row, body.capabilities, now)) > 0 ? ['capabilities'] : [],
  });
  return { success: true as const };
}

/** Capabilities of the integration come first, then those with a setting on this server only. */
async function listServed(deps: AdminDeps, request: ListRequest) {
  const { caller, query } = request;
  const { organisationId } = caller;
  const db = deps.database.readable;
  const row = await findServer(db, request, query.workspace_id);
  const page = toPageFromOne(query);
  const filter = { integrationId: row.mcp_integration_id, type: query.type };
  const { rows, total } = await mcpCapabilities.list(db, organisationId, filter, page);
  const place = { organisationId, serverId: row.id, integrationId: row.mcp_integration_id };
  const settings = await serverCapabilities.listByServer(db, organisationId, row.id);
  const settingOf = new Map(settings.map((setting) => [identityOf(setting), setting]));
  const others = await serverCapabilities.listUnknown(db, place, query.type, {
    limit: page.limit - rows.length,
    offset: Math.max(0, page.offset - total),
  });
  const { known, unknown } = await serverCapabilities.listCounts(db, place);
  const unknownTotal = unknown
    .filter(({ type }) => query.type === undefined || type === query.type)
    .reduce((sum, count) => sum + count.total, 0);
  const data = [
    ...rows.map((capability) =>
      mcpCapabilityToServedRecord(capability, settingOf.get(identityOf(capability))),
    ),
    ...others.map(mcpCapabilityToUnknownRecord),
  ];
  const counted = { length: data.length, total: total + unknownTotal };
  return withVersionTag(
    capabilityReply(data, counted, page, toCounts([...known, ...unknown])),
    row,
  );
}

async function putServed(deps: AdminDeps, request: PutRequest) {
  const { body, now } = request;
  rejectFaults(repeatedFaults(body.capabilities));
  await updateResource(deps, request, serverChanging, {
    columns: () => ({}),
    writeElsewhere: async (tx, row) =>
      (await putAtServer(tx, row, body.capabilities, now)) > 0 ? ['capabilities'] : [],
  });
  return { success: true as const };
}
