/** HTTP routes for guardrails on MCP servers (docs/reference/resources.md, Guardrail mappings). */

import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import {
  GuardrailMappingPut,
  GuardrailMappingSync,
  isSameMapping,
  type MappingContent,
  readMappingContent,
} from '../../model/guardrails/guardrail-mapping.ts';
import { documentBodyLimits } from '../../model/json/body-limits.ts';
import type { ManagedBy } from '../../model/manifests/managed-by.ts';
import { ApiError } from '../../model/wire/errors.ts';
import type { Fault } from '../../model/wire/fault.ts';
import { newId } from '../../model/wire/ids.ts';
import { mapItems, StreamedList } from '../../model/wire/streamed-list.ts';
import { rejectFaults, validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as mcpCapabilities from '../../store/mcp/mcp-capabilities.ts';
import * as mcpServers from '../../store/mcp/mcp-servers.ts';
import * as guardrailMappings from '../../store/resources/guardrail-mappings.ts';
import * as guardrails from '../../store/resources/guardrails.ts';
import { findGuardrailOfPath, guardrailScopes } from '../access/guardrail-access.ts';
import { recordChange } from '../request/change.ts';
import { type AdminDeps, everyMount, forOwners } from '../request/deps.ts';
import {
  type BodyRequest,
  type ItemRequest,
  updateFields,
  WorkspaceQuery,
} from '../request/frame-fields.ts';
import { type Resource, snapshotOf } from '../request/resource.ts';
import { findOr404 } from '../request/scoping.ts';
import { requireVersion, withVersionTag } from '../request/version.ts';
import {
  GuardrailMapping,
  guardrailMappingToRecord,
  guardrailMappingToSpec,
} from './guardrail-mapping-record.ts';

const PutBody = GuardrailMappingPut.extend(updateFields);
const SyncBody = GuardrailMappingSync.extend({ workspace_id: updateFields.workspace_id });
const PutReceipt = z.object({ map_id: z.uuid() });
const SyncReceipt = z.object({
  changed: z.boolean(),
  added: z.int().min(0),
  updated: z.int().min(0),
  removed: z.int().min(0),
});

type PutRequest = BodyRequest<z.infer<typeof PutBody>>;
type SyncRequest = BodyRequest<z.infer<typeof SyncBody>>;
type StoredMapping = guardrailMappings.StoredGuardrailMapping;

export const guardrailMappingResource: Resource = {
  kind: 'GuardrailMcpBinding',
  features: ['guardrails'],
  routes: guardrailMappingRoutes,
  snapshot: snapshotOf(guardrailMappings.listAllWithWorkspace, guardrailMappingToSpec),
  contents: guardrailMappings.contents,
};

function guardrailMappingRoutes(deps: AdminDeps): Route<Principal>[] {
  const shared = { mounts: everyMount } as const;
  const all = { ...shared, path: '/guardrails/:guardrailId/mcp-servers' };
  const one = { ...shared, path: '/guardrails/:guardrailId/mcp-servers/:mcpServerId' };
  return [
    route({
      ...all,
      method: 'GET',
      scope: guardrailScopes.either('read'),
      summary: 'List the MCP servers a guardrail is on',
      query: WorkspaceQuery,
      response: z.array(GuardrailMapping),
      handle: (request) => list(deps, request),
    }),
    route({
      ...all,
      ...forOwners,
      method: 'PUT',
      scope: guardrailScopes.either('update'),
      summary: 'Set the MCP servers a guardrail is on',
      versioned: true,
      body: SyncBody,
      bodyLimits: documentBodyLimits,
      response: SyncReceipt,
      handle: (request) => sync(deps, request),
    }),
    route({
      ...one,
      method: 'GET',
      scope: guardrailScopes.either('read'),
      summary: 'Get the settings of a guardrail on one MCP server',
      query: WorkspaceQuery,
      response: GuardrailMapping,
      handle: (request) => get(deps, request),
    }),
    route({
      ...one,
      ...forOwners,
      method: 'PUT',
      scope: guardrailScopes.either('update'),
      summary: 'Put a guardrail on one MCP server',
      versioned: true,
      body: PutBody,
      ignoredFields: ['guardrail_id', 'mcp_server_id'],
      response: PutReceipt,
      handle: (request) => put(deps, request),
    }),
    route({
      ...one,
      ...forOwners,
      method: 'DELETE',
      scope: guardrailScopes.either('update'),
      summary: 'Remove a guardrail from one MCP server',
      versioned: true,
      query: WorkspaceQuery,
      response: z.object({}),
      handle: (request) => remove(deps, request),
    }),
  ];
}

async function list(deps: AdminDeps, request: ItemRequest) {
  const db = deps.database.readable;
  const guardrail = await findGuardrailOfPath(db, request, request.query.workspace_id, 'read');
  const { organisationId } = request.caller;
  const rows = guardrailMappings.readByGuardrail(db, organisationId, guardrail.id);
  const list = new StreamedList<z.infer<typeof GuardrailMapping>[]>(
    {},
    null,
    mapItems(rows, guardrailMappingToRecord),
  );
  return withVersionTag(list, { version: guardrail.mappings_version });
}

async function get(deps: AdminDeps, request: ItemRequest) {
  const { row } = await findMapping(deps.database.readable, request, 'read');
  return withVersionTag(guardrailMappingToRecord(row), row);
}

async function put(deps: AdminDeps, request: PutRequest) {
  const { params, body } = request;
  return deps.database.transaction(async (tx) => {
    const guardrail = await findToolGuardrail(tx, request);
    const reference = params.mcpServerId!;
    const servers = await findServers(tx, request.caller, guardrail, [reference], () => []);
    const server = servers.get(reference)!;
    const content = readMappingContent(body);
    const requested = [{ server, content, path: [capabilityField(body)] }];
    rejectFaults(await capabilityFaults(tx, request.caller, requested));
    const current = await mappingOf(tx, guardrail, server);
    if (request.ifMatch !== null) requireVersion(request, current?.version ?? 0);
    if (current === undefined) {
      const id = await add(tx, deps, request, guardrail, server, content, body.managed_by);
      return { map_id: id };
    }
    await renew(tx, deps, request, guardrail, current, content, body.managed_by);
    return { map_id: current.id };
  });
}

async function remove(deps: AdminDeps, request: ItemRequest) {
  await deps.database.transaction(async (tx) => {
    const { guardrail, row } = await findMapping(tx, request, 'update');
    requireVersion(request, row.version);
    await drop(tx, deps, request, guardrail, row);
  });
  return {};
}

/** The mapping of the guardrail and the server named by the path. */
async function findMapping(db: Db, request: ItemRequest, action: 'read' | 'update') {
  const { caller, params, query } = request;
  const guardrail = await findGuardrailOfPath(db, request, query.workspace_id, action);
  const finding = mcpServers.findByIdOrSlug(db, caller.organisationId, params.mcpServerId!);
  const row = await mappingOf(db, guardrail, findOr404(caller, await finding));
  if (row === undefined) throw new ApiError('notFound');
  return { guardrail, row };
}

/**
 * Makes the guardrail's mappings exactly those sent; the lock on the guardrail serialises concurrent calls.
 */
async function sync(deps: AdminDeps, request: SyncRequest) {
  const { caller, body } = request;
  const entries = Object.entries(body.mcp_servers);
  return deps.database.transaction(async (tx) => {
    const guardrail = await findToolGuardrail(tx, request);
    requireVersion(request, guardrail.mappings_version);
    const names = entries.map(([name]) => name);
    const servers = await findServers(tx, caller, guardrail, names, (name) => [
      'mcp_servers',
      name,
    ]);
    const requested = entries.map(([name, entry]) => ({
      server: servers.get(name)!,
      content: readMappingContent(entry),
      path: ['mcp_servers', name, capabilityField(entry)],
    }));
    rejectFaults(await capabilityFaults(tx, caller, requested));
    const stored = await guardrailMappings.listByGuardrail(tx, caller.organisationId, guardrail.id);
    const current = new Map(stored.map((row) => [row.mcp_server_id, row]));
    const counts = { added: 0, updated: 0, removed: 0 };
    for (const { server, content } of requested) {
      const row = current.get(server.id);
      current.delete(server.id);
      if (row === undefined) {
        await add(tx, deps, request, guardrail, server, content);
        counts.added += 1;
      } else if (await renew(tx, deps, request, guardrail, row, content)) counts.updated += 1;
    }
    for (const row of current.values()) {
      await drop(tx, deps, request, guardrail, row);
      counts.removed += 1;
    }
    return { changed: counts.added + counts.updated + counts.removed > 0, ...counts };
  });
}

/** Locks the guardrail; refuses one for LLM requests. */
async function findToolGuardrail(
  tx: Db,
  request: PutRequest | SyncRequest,
): Promise<guardrails.StoredGuardrail> {
  const guardrail = await findGuardrailOfPath(tx, request, request.body.workspace_id, 'update');
  if (guardrail.target !== 'mcp_tools') {
    const message = 'must be mcp_tools for a guardrail on MCP servers';
    throw validationError({ path: ['target'], message });
  }
  return guardrail;
}

/** Servers by the names in the request, locked against deletion. */
async function findServers(
  tx: Db,
  caller: Principal,
  guardrail: guardrails.StoredGuardrail,
  names: readonly string[],
  pathOf: (name: string) => string[],
): Promise<Map<string, mcpServers.StoredMcpServer>> {
  const rows = await mcpServers.listByReferencesForShare(tx, caller.organisationId, names);
  const byName = new Map(rows.flatMap((row) => [[row.id, row] as const, [row.slug, row] as const]));
  const faults: Fault[] = [];
  const taken = new Set<string>();
  const servers = names.map((name) => {
    const row = byName.get(name) ?? byName.get(name.toLowerCase());
    const visible = caller.workspaceId === null || row?.workspace_id === caller.workspaceId;
    if (row === undefined || !visible) {
      throw new ApiError('notFound', undefined, pathOf(name).join('.'));
    }
    if (guardrail.workspace_id !== null && guardrail.workspace_id !== row.workspace_id) {
      faults.push({ path: pathOf(name), message: 'is in another workspace than the guardrail' });
    }
    if (taken.has(row.id)) faults.push({ path: pathOf(name), message: 'is named twice' });
    taken.add(row.id);
    return [name, row] as const;
  });
  rejectFaults(faults);
  return new Map(servers);
}

function capabilityField(put: GuardrailMappingPut): string {
  return put.mcp_integration_capability_ids === undefined
    ? 'capability_ids'
    : 'mcp_integration_capability_ids';
}

/** A mapping may contain only capabilities of its server's integration. */
async function capabilityFaults(
  tx: Db,
  caller: Principal,
  requested: readonly {
    readonly server: mcpServers.StoredMcpServer;
    readonly content: MappingContent;
    readonly path: readonly string[];
  }[],
): Promise<Fault[]> {
  const ids = [...new Set(requested.flatMap(({ content }) => content.capabilityIds))];
  const rows = await mcpCapabilities.listByIds(tx, caller.organisationId, ids);
  const integrationOf = new Map(rows.map((row) => [row.id, row.mcp_integration_id]));
  return requested.flatMap(({ server, content, path }) =>
    content.capabilityIds.flatMap((id, at) =>
      integrationOf.get(id) === server.mcp_integration_id
        ? []
        : [{ path: [...path, at], message: "is not a capability of the server's integration" }],
    ),
  );
}

function mappingOf(
  db: Db,
  guardrail: guardrails.StoredGuardrail,
  server: mcpServers.StoredMcpServer,
): Promise<StoredMapping | undefined> {
  return guardrailMappings.findByServer(db, guardrail.organisation_id, guardrail.id, server.id);
}

async function add(
  tx: Db,
  deps: AdminDeps,
  request: PutRequest | SyncRequest,
  guardrail: guardrails.StoredGuardrail,
  server: mcpServers.StoredMcpServer,
  content: MappingContent,
  managedBy?: ManagedBy,
): Promise<string> {
  const id = newId();
  await guardrailMappings.insert(tx, {
    id,
    organisation_id: guardrail.organisation_id,
    guardrail_id: guardrail.id,
    mcp_server_id: server.id,
    run_on: JSON.stringify(content.runOn),
    capability_ids: JSON.stringify(content.capabilityIds),
    created_at: request.now,
    last_updated_at: request.now,
  });
  await guardrails.countMappings(tx, guardrail);
  await recordChange(tx, deps, request, {
    action: 'create',
    kind: 'GuardrailMcpBinding',
    resourceId: id,
    workspaceId: guardrail.workspace_id,
    changes: { guardrail: guardrail.slug, mcp_server: server.slug },
    managedBy,
  });
  return id;
}

/** Returns whether the content of the mapping changed. */
async function renew(
  tx: Db,
  deps: AdminDeps,
  request: PutRequest | SyncRequest,
  guardrail: guardrails.StoredGuardrail,
  row: StoredMapping,
  content: MappingContent,
  managedBy?: ManagedBy,
): Promise<boolean> {
  const { run_on, capability_ids } = guardrailMappingToRecord(row);
  const changed = !isSameMapping({ runOn: run_on, capabilityIds: capability_ids }, content);
  if (changed) {
    await guardrailMappings.update(tx, row.organisation_id, row.id, {
      run_on: JSON.stringify(content.runOn),
      capability_ids: JSON.stringify(content.capabilityIds),
      last_updated_at: request.now,
    });
    await guardrails.countMappings(tx, guardrail);
  }
  await recordChange(tx, deps, request, {
    action: 'update',
    kind: 'GuardrailMcpBinding',
    resourceId: row.id,
    workspaceId: guardrail.workspace_id,
    changes: { guardrail: guardrail.slug, content: changed },
    unchanged: !changed,
    managedBy,
  });
  return changed;
}

async function drop(
  tx: Db,
  deps: AdminDeps,
  request: SyncRequest | ItemRequest,
  guardrail: guardrails.StoredGuardrail,
  row: StoredMapping,
): Promise<void> {
  await guardrailMappings.deleteByIds(tx, row.organisation_id, [row.id]);
  await guardrails.countMappings(tx, guardrail);
  await recordChange(tx, deps, request, {
    action: 'delete',
    kind: 'GuardrailMcpBinding',
    resourceId: row.id,
    workspaceId: guardrail.workspace_id,
    changes: { guardrail: guardrail.slug, mcp_server_id: row.mcp_server_id },
  });
}
