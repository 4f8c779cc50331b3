/** Knows the guardrail_mcp_mappings table: which guardrails stand before which MCP servers. */
import type { Selectable } from 'kysely';
import type { Db } from '../connection/db.ts';
import * as managedResources from './managed-resources.ts';
import { resourceTable } from './resource-table.ts';
import type { Versioned } from './versioned.ts';

interface GuardrailMcpMappingRow extends Versioned {
  id: string;
  organisation_id: string;
  guardrail_id: string;
  mcp_server_id: string;
  run_on: string;
  capability_ids: string;
}

declare module '../connection/db.ts' {
  interface Tables {
    guardrail_mcp_mappings: GuardrailMcpMappingRow;
  }
}

/** A mapping as stored. */
export type StoredGuardrailMapping = Selectable<GuardrailMcpMappingRow>;

export const { insert, listAllForOrganisation, update } = resourceTable('guardrail_mcp_mappings');

export function findByServer(
  db: Db,
  organisationId: string,
  guardrailId: string,
  serverId: string,
): Promise<StoredGuardrailMapping | undefined> {
  return db
    .selectFrom('guardrail_mcp_mappings')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('guardrail_id', '=', guardrailId)
    .where('mcp_server_id', '=', serverId)
    .executeTakeFirst();
}

export function listByGuardrail(
  db: Db,
  organisationId: string,
  guardrailId: string,
): Promise<StoredGuardrailMapping[]> {
  return db
    .selectFrom('guardrail_mcp_mappings')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('guardrail_id', '=', guardrailId)
    .orderBy('id')
    .execute();
}

export function listByServer(
  db: Db,
  organisationId: string,
  serverId: string,
): Promise<StoredGuardrailMapping[]> {
  return db
    .selectFrom('guardrail_mcp_mappings')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('mcp_server_id', '=', serverId)
    .execute();
}

/** Deletes mappings because what they belong to goes; their declared identities become free. */
export async function deleteWithClaims(
  tx: Db,
  organisationId: string,
  mappings: readonly { readonly id: string }[],
): Promise<void> {
  const ids = mappings.map(({ id }) => id);
  await deleteByIds(tx, organisationId, ids);
  await managedResources.deleteByResources(tx, organisationId, 'GuardrailMcpBinding', ids);
}

export async function deleteByIds(
  tx: Db,
  organisationId: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .deleteFrom('guardrail_mcp_mappings')
    .where('organisation_id', '=', organisationId)
    .where('id', 'in', ids)
    .execute();
}
