/** Knows the guardrail_mcp_mappings table: which guardrails stand before which MCP servers. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { listAllInSlices } from '../rows/paging.ts';
import { resourceTable, type RowCondition } from '../rows/resource-table.ts';
import * as snapshotMarks from '../rows/snapshot-marks.ts';
import type { Versioned } from '../rows/versioned.ts';
import { heldIds, type Place, type WorkspaceContents } from '../rows/workspace-contents.ts';
import * as managedResources from '../sync/managed-resources.ts';

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

export const { insert, update } = resourceTable('guardrail_mcp_mappings');

/** Those of the workspace's guardrails and those onto its servers. */
const touching = (at: Place) => sql`organisation_id = ${at.organisationId}
  and (guardrail_id in ${heldIds('guardrails', at)} or mcp_server_id in ${heldIds('mcp_servers', at)})`;

export const contents: WorkspaceContents = {
  kind: 'GuardrailMcpBinding',
  table: 'guardrail_mcp_mappings',
  held: touching,
  removal: (at) => [sql`delete from guardrail_mcp_mappings where ${touching(at)}`],
};

/** Oldest first, each with the workspace of its guardrail. */
export function listAllPlaced(
  db: Db,
  organisationId: string,
  which: RowCondition | null = null,
): Promise<(StoredGuardrailMapping & { readonly workspace_id: string | null })[]> {
  return db
    .selectFrom('guardrail_mcp_mappings as mapping')
    .innerJoin('guardrails', (join) =>
      join
        .onRef('guardrails.organisation_id', '=', 'mapping.organisation_id')
        .onRef('guardrails.id', '=', 'mapping.guardrail_id'),
    )
    .selectAll('mapping')
    .select('guardrails.workspace_id')
    .where('mapping.organisation_id', '=', organisationId)
    .$if(which !== null, (rows) => rows.where(which!('mapping', false)))
    .orderBy('mapping.id')
    .execute();
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
    .orderBy('id')
    .execute();
}

/** As {@link listByGuardrail}, read a few at a time: there may be any number, each with many capabilities. */
export function readByGuardrail(
  db: Db,
  organisationId: string,
  guardrailId: string,
): AsyncIterable<StoredGuardrailMapping> {
  const query = db
    .selectFrom('guardrail_mcp_mappings')
    .where('organisation_id', '=', organisationId)
    .where('guardrail_id', '=', guardrailId);
  return listAllInSlices(query, ['run_on', 'capability_ids']);
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
  snapshotMarks.replaceOne(tx, organisationId);
  await tx
    .deleteFrom('guardrail_mcp_mappings')
    .where('organisation_id', '=', organisationId)
    .where('id', 'in', ids)
    .execute();
}
