/** Knows how it is written which capabilities of MCP integrations and servers may be used. */

import { type DiscoveredCapability, storedCapabilitiesMax } from '../../model/mcp/mcp-discovery.ts';
import type { McpCapabilityType } from '../../model/mcp/mcp-integration.ts';
import { newId } from '../../model/wire/ids.ts';
import { writeDocument } from '../../model/wire/json-record.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as mcpCapabilities from '../../store/mcp/mcp-capabilities.ts';
import type { StoredMcpIntegration } from '../../store/mcp/mcp-integrations.ts';
import * as serverCapabilities from '../../store/mcp/mcp-server-capabilities.ts';
import type { StoredMcpServer } from '../../store/mcp/mcp-servers.ts';
import { identityOf } from './mcp-capability-record.ts';

/** Of one statement; each may hold a schema. */
const rowsMax = 100;

interface Named {
  readonly type: McpCapabilityType;
  readonly name: string;
}

/** What is said of one. */
export interface CapabilitySetting extends Named {
  readonly enabled: boolean;
}

/** Yields how many are otherwise than before. The row of the integration is locked. */
export async function putAtIntegration(
  tx: Db,
  { id, organisation_id }: Pick<StoredMcpIntegration, 'id' | 'organisation_id'>,
  sent: readonly CapabilitySetting[],
  now: number,
): Promise<number> {
  const known = await mcpCapabilities.listByIntegration(tx, organisation_id, id);
  const changed = differing(sent, known);
  requireRoom(countOfAll(changed, known));
  await mcpCapabilities.upsertMany(
    tx,
    organisation_id,
    changed.map(({ name, type, enabled }) => ({
      id: newId(),
      organisation_id,
      mcp_integration_id: id,
      type,
      name,
      enabled: enabled ? 1 : 0,
      facts: null,
      last_seen_at: null,
      created_at: now,
      last_updated_at: now,
    })),
  );
  return changed.length;
}

/** Keeps what the server offers: what is new is enabled, and what is known stays as it is. */
export async function keepFound(
  tx: Db,
  { id, organisation_id }: Pick<StoredMcpIntegration, 'id' | 'organisation_id'>,
  found: readonly DiscoveredCapability[],
  now: number,
): Promise<void> {
  const rows = found.map(({ type, name, facts }) => ({
    ...{ id: newId(), organisation_id, mcp_integration_id: id, type, name, enabled: 1 },
    ...{ facts: writeDocument(facts), last_seen_at: now, created_at: now, last_updated_at: now },
  }));
  for (let at = 0; at < rows.length; at += rowsMax) {
    await mcpCapabilities.upsertFound(tx, rows.slice(at, at + rowsMax));
  }
}

/** As {@link putAtIntegration}, for what a server says by itself. */
export async function putAtServer(
  tx: Db,
  { id, organisation_id: organisationId }: Pick<StoredMcpServer, 'id' | 'organisation_id'>,
  sent: readonly CapabilitySetting[],
  now: number,
): Promise<number> {
  const known = await serverCapabilities.listByServer(tx, organisationId, id);
  const changed = differing(sent, known);
  requireRoom(countOfAll(changed, known));
  await serverCapabilities.upsertMany(tx, { organisationId, serverId: id }, changed, now);
  return changed.length;
}

/** Makes these the disabled ones, and no others. */
export async function disableAtIntegration(
  tx: Db,
  integration: Pick<StoredMcpIntegration, 'id' | 'organisation_id'>,
  disabled: readonly Named[],
  now: number,
): Promise<number> {
  const { organisation_id, id } = integration;
  const known = await mcpCapabilities.listByIntegration(tx, organisation_id, id);
  return putAtIntegration(tx, integration, wholeOf(disabled, known), now);
}

/** As {@link disableAtIntegration}, for what a server says by itself. */
export async function disableAtServer(
  tx: Db,
  server: Pick<StoredMcpServer, 'id' | 'organisation_id'>,
  disabled: readonly Named[],
  now: number,
): Promise<number> {
  const known = await serverCapabilities.listByServer(tx, server.organisation_id, server.id);
  return putAtServer(tx, server, wholeOf(disabled, known), now);
}

type Known = Named & { readonly enabled: number };

function differing(
  sent: readonly CapabilitySetting[],
  known: readonly Known[],
): CapabilitySetting[] {
  const enabledOf = new Map(known.map((one) => [identityOf(one), one.enabled !== 0]));
  return sent.filter((one) => enabledOf.get(identityOf(one)) !== one.enabled);
}

function countOfAll(changed: readonly Named[], known: readonly Known[]): number {
  return new Set([...changed, ...known].map(identityOf)).size;
}

/** @throws ApiError `invalid` where there are to be more than are kept */
export function requireRoom(count: number): void {
  if (count <= storedCapabilitiesMax) return;
  const message = `there are ${storedCapabilitiesMax} capabilities at most, those that are offered no more among them; make a new one`;
  throw validationError({ path: [], message });
}

function wholeOf(disabled: readonly Named[], known: readonly Known[]): CapabilitySetting[] {
  const off = new Map(
    disabled.map(({ type, name }) => [identityOf({ type, name }), { type, name }]),
  );
  return [
    ...off.values().map((one) => ({ ...one, enabled: false })),
    ...known
      .filter((one) => one.enabled === 0 && !off.has(identityOf(one)))
      .map(({ type, name }) => ({ type, name, enabled: true })),
  ];
}
