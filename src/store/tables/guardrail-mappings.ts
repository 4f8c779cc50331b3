/** Knows the guardrail_mcp_mappings table: which guardrails stand before which MCP servers. */
import type { Insertable, Selectable, Updateable } from 'kysely';
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import * as managedResources from './managed-resources.ts';
import type { Versioned } from './versioned.ts';

export interface GuardrailMcpMappingRow extends Versioned {
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

/** Throws errno 1062 when the guardrail is on the server already. */
export async function insert(tx: Db, row: Insertable<GuardrailMcpMappingRow>): Promise<void> {
  await tx.insertInto('guardrail_mcp_mappings').values(row).execute();
}

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
    .orderBy('created_at')
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

export function listAllForOrganisation(
  db: Db,
  organisationId: string,
): Promise<StoredGuardrailMapping[]> {
  return db
    .selectFrom('guardrail_mcp_mappings')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/** Writes the given columns and counts the write. */
export async function update(
  tx: Db,
  organisationId: string,
  id: string,
  fields: Pick<Updateable<GuardrailMcpMappingRow>, 'run_on' | 'capability_ids' | 'last_updated_at'>,
): Promise<void> {
  await tx
    .updateTable('guardrail_mcp_mappings')
    .set({ ...fields, version: sql`version + 1` })
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
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
