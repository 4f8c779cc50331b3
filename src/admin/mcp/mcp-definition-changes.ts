/** Writes the approved and the newest definitions of MCP integrations. */
import { type Definition, definitionOfFacts, readDefinition } from '../../model/mcp/definition.ts';
import {
  type ApprovedDefinition,
  definitionFacts,
  type PinnedDefinition,
  withApproved,
  withDeclared,
  withSeen,
} from '../../model/mcp/definition-pins.ts';
import type { DiscoveredCapability } from '../../model/mcp/mcp-discovery.ts';
import type { McpIntegrationUpdate } from '../../model/mcp/mcp-integration.ts';
import { ApiError } from '../../model/wire/errors.ts';
import type { Db } from '../../store/connection/db.ts';
import * as mcpDefinitions from '../../store/mcp/mcp-definitions.ts';
import * as mcpIntegrations from '../../store/mcp/mcp-integrations.ts';
import { type Author, auditChange } from '../request/change.ts';
import type { AdminDeps } from '../request/deps.ts';
import { identityOf } from './mcp-capability-record.ts';

type Integration = Pick<
  mcpIntegrations.StoredMcpIntegration,
  'id' | 'organisation_id' | 'workspace_id' | 'definitions_from'
>;

/**
 * Stores what the server offers. The first definitions are approved as they are, unless approved ones
 * were declared before. The row of the integration must be locked.
 *
 * @returns facts for the audit log; undefined when nothing changed
 */
export async function storeDefinitions(
  tx: Db,
  integration: Integration,
  capabilities: readonly DiscoveredCapability[],
  now: number,
): Promise<Record<string, unknown> | undefined> {
  const definitions = capabilities.map(definitionOf).filter((one) => one !== null);
  const isFirst = integration.definitions_from === null;
  const current = await mcpDefinitions.listByIntegration(tx, placeOf(integration));
  const rows = withSeen(current, definitions, { at: now, isComplete: true, isFirst });
  await mcpDefinitions.put(tx, placeOf(integration), rows);
  if (isFirst) await mcpIntegrations.setDefinitionsFrom(tx, integration, 'first_sync');
  return definitionFacts(rows);
}

function definitionOf({ type, name, facts, item }: DiscoveredCapability): Definition | null {
  return item === undefined ? definitionOfFacts(type, name, facts) : readDefinition(type, item);
}

/**
 * Approves exactly the declared definitions, or, for null, ends the declaration and leaves them approved.
 *
 * @returns whether anything changed
 */
export async function declareDefinitions(
  tx: Db,
  deps: Pick<AdminDeps, 'audit'>,
  request: Author,
  integration: Integration,
  declared: McpIntegrationUpdate['approved_definitions'],
): Promise<boolean> {
  const { definitions_from: from } = integration;
  if (declared === undefined || (declared === null && from !== 'declared')) return false;
  if (declared === null) {
    await mcpIntegrations.setDefinitionsFrom(tx, integration, 'first_sync');
    return true;
  }
  const current = await mcpDefinitions.listByIntegration(tx, placeOf(integration));
  const rows = withDeclared(current, declared, request.now);
  await mcpDefinitions.put(tx, placeOf(integration), rows);
  await auditApproval(tx, deps, request, integration, { current, rows });
  if (from !== 'declared') await mcpIntegrations.setDefinitionsFrom(tx, integration, 'declared');
  return rows.length > 0 || from !== 'declared';
}

/**
 * Approves definitions as they were last seen.
 *
 * @returns the number of rows that changed
 * @throws ApiError `conflict` when a digest is not that of the newest definition
 */
export async function approveDefinitions(
  tx: Db,
  deps: Pick<AdminDeps, 'audit'>,
  request: Author,
  integration: Integration,
  approved: readonly ApprovedDefinition[],
): Promise<number> {
  const current = await mcpDefinitions.listByIntegration(tx, placeOf(integration));
  const outcome = withApproved(current, approved, request.now);
  if ('stale' in outcome) {
    const { type, name, digest } = outcome.stale;
    const message = `The newest definition of the ${type} ${name} does not have the digest ${digest}; read the definitions again`;
    throw new ApiError('conflict', message, 'definitions');
  }
  const { rows } = outcome;
  await mcpDefinitions.put(tx, placeOf(integration), rows);
  if (integration.definitions_from === null) {
    await mcpIntegrations.setDefinitionsFrom(tx, integration, 'first_sync');
  }
  await auditApproval(tx, deps, request, integration, { current, rows });
  return rows.length;
}

/** Records how the approved definitions differed from the earlier ones. */
async function auditApproval(
  tx: Db,
  deps: Pick<AdminDeps, 'audit'>,
  request: Author,
  { id, workspace_id: workspaceId }: Integration,
  { current, rows }: Record<'current' | 'rows', readonly PinnedDefinition[]>,
): Promise<void> {
  if (rows.length === 0) return;
  const changed = new Set(rows.map(identityOf));
  const before = current.filter((row) => changed.has(identityOf(row)));
  await auditChange(tx, deps, request, {
    action: 'update',
    kind: 'McpIntegration',
    resourceId: id,
    workspaceId,
    changes: { approved_definitions: rows.length, before: definitionFacts(before) },
  });
}

export function placeOf({
  organisation_id: organisationId,
  id: integrationId,
}: Pick<Integration, 'organisation_id' | 'id'>): mcpDefinitions.DefinitionPlace {
  return { organisationId, integrationId };
}
