/** Writes which capabilities of MCP integrations and servers are enabled. */

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

/** Rows of one statement, as each row may contain a schema. */
const rowsMax = 100;

interface CapabilityIdentity {
  readonly type: McpCapabilityType;
  readonly name: string;
}

/** Whether one capability is enabled. */
export interface CapabilitySetting extends CapabilityIdentity {
  readonly enabled: boolean;
}

/** Returns the number of changes. The row of the integration must be locked. */
export async function putAtIntegration(
  tx: Db,
  { id, organisation_id }: Pick<StoredMcpIntegration, 'id' | 'organisation_id'>,
  sent: readonly CapabilitySetting[],
  now: number,
): Promise<number> {
  const current = await mcpCapabilities.listByIntegration(tx, organisation_id, id);
  const changed = changedSettings(sent, current);
  requireCapacity(countOfAll(changed, current));
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

/** Stores discovered capabilities: new ones are enabled, existing ones keep their setting. */
export async function storeDiscovered(
  tx: Db,
  { id, organisation_id }: Pick<StoredMcpIntegration, 'id' | 'organisation_id'>,
  discovered: readonly DiscoveredCapability[],
  now: number,
): Promise<void> {
  const rows = discovered.map(({ type, name, facts }) => ({
    id: newId(),
    organisation_id,
    mcp_integration_id: id,
    type,
    name,
    enabled: 1,
    facts: writeDocument(facts),
    last_seen_at: now,
    created_at: now,
    last_updated_at: now,
  }));
  for (let at = 0; at < rows.length; at += rowsMax) {
    await mcpCapabilities.upsertFound(tx, rows.slice(at, at + rowsMax));
  }
}

/** Like {@link putAtIntegration}, for settings of one server. */
export async function putAtServer(
  tx: Db,
  { id, organisation_id: organisationId }: Pick<StoredMcpServer, 'id' | 'organisation_id'>,
  sent: readonly CapabilitySetting[],
  now: number,
): Promise<number> {
  const current = await serverCapabilities.listByServer(tx, organisationId, id);
  const changed = changedSettings(sent, current);
  requireCapacity(countOfAll(changed, current));
  await serverCapabilities.upsertMany(tx, { organisationId, serverId: id }, changed, now);
  return changed.length;
}

/** Disables exactly these capabilities. */
export async function disableAtIntegration(
  tx: Db,
  integration: Pick<StoredMcpIntegration, 'id' | 'organisation_id'>,
  disabled: readonly CapabilityIdentity[],
  now: number,
): Promise<number> {
  const { organisation_id, id } = integration;
  const current = await mcpCapabilities.listByIntegration(tx, organisation_id, id);
  return putAtIntegration(tx, integration, completeSettings(disabled, current), now);
}

/** Like {@link disableAtIntegration}, for settings of one server. */
export async function disableAtServer(
  tx: Db,
  server: Pick<StoredMcpServer, 'id' | 'organisation_id'>,
  disabled: readonly CapabilityIdentity[],
  now: number,
): Promise<number> {
  const current = await serverCapabilities.listByServer(tx, server.organisation_id, server.id);
  return putAtServer(tx, server, completeSettings(disabled, current), now);
}

type CurrentSetting = CapabilityIdentity & { readonly enabled: number };

function changedSettings(
  sent: readonly CapabilitySetting[],
  current: readonly CurrentSetting[],
): CapabilitySetting[] {
  const enabledOf = new Map(current.map((row) => [identityOf(row), row.enabled !== 0]));
  return sent.filter((one) => enabledOf.get(identityOf(one)) !== one.enabled);
}

function countOfAll(
  changed: readonly CapabilityIdentity[],
  current: readonly CapabilityIdentity[],
): number {
  return new Set([...changed, ...current].map(identityOf)).size;
}

/** @throws ApiError `invalid` above the number of capabilities that are stored */
export function requireCapacity(count: number): void {
  if (count <= storedCapabilitiesMax) return;
  const message = `there can be at most ${storedCapabilitiesMax} capabilities, including those that are no longer offered; create a new integration`;
  throw validationError({ path: [], message });
}

function completeSettings(
  disabled: readonly CapabilityIdentity[],
  current: readonly CurrentSetting[],
): CapabilitySetting[] {
  const off = new Map(
    disabled.map(({ type, name }) => [identityOf({ type, name }), { type, name }]),
  );
  return [
    ...off.values().map((one) => ({ ...one, enabled: false })),
    ...current
      .filter((one) => one.enabled === 0 && !off.has(identityOf(one)))
      .map(({ type, name }) => ({ type, name, enabled: true })),
  ];
}
