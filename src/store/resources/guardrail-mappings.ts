/** Table functions for guardrail_mcp_mappings: the guardrails that check calls of MCP servers. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { listAllInSlices } from '../rows/paging.ts';
import { type RowCondition, resourceTable } from '../rows/resource-table.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import {
  heldIds,
  type OwningWorkspace,
  type WorkspaceContents,
} from '../rows/workspace-contents.ts';
import * as managedResources from '../sync/managed-resources.ts';

interface GuardrailMcpMappingRow extends VersionColumns {
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

const table = resourceTable('guardrail_mcp_mappings', { hasSlug: false });

export const { insert, update } = table;

/** Mappings of the workspace's guardrails and mappings to its servers. */
const involves = (at: OwningWorkspace) => sql`organisation_id = ${at.organisationId}
  and (guardrail_id in ${heldIds('guardrails', at)} or mcp_server_id in ${heldIds('mcp_servers', at)})`;

export const contents: WorkspaceContents = {
  kind: 'GuardrailMcpBinding',
  table: 'guardrail_mcp_mappings',
  held: involves,
  removal: (at) => [sql`delete from guardrail_mcp_mappings where ${involves(at)}`],
};

/** Oldest first, each with the workspace of its guardrail; `condition` selects a part of them. */
export function listAllWithWorkspace(
  db: Db,
  organisationId: string,
  condition: RowCondition | null = null,
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
    .$if(condition !== null, (all) => all.where(condition!('mapping', false)))
    .orderBy('mapping.id')
    .execute();
}

export const findByServer = table.rows.findBy('organisation_id', 'guardrail_id', 'mcp_server_id');
export const listByServer = table.rows.listBy(['organisation_id', 'mcp_server_id']);
export const listByGuardrail = table.rows.listBy(['organisation_id', 'guardrail_id'], {
  orderBy: ['id'],
});

/** As {@link listByGuardrail}, in batches: the number of mappings and their size have no bound. */
export function readByGuardrail(
  db: Db,
  organisationId: string,
  guardrailId: string,
): AsyncIterable<StoredGuardrailMapping> {
  const where = { organisation_id: organisationId, guardrail_id: guardrailId };
  return listAllInSlices(table.rows.matching(db, where), ['run_on', 'capability_ids']);
}

/** Deletes mappings together with their guardrail or server, and their entries in managed_resources. */
export async function deleteWithClaims(
  tx: Db,
  organisationId: string,
  mappings: readonly { readonly id: string }[],
): Promise<void> {
  const ids = mappings.map(({ id }) => id);
  await deleteByIds(tx, organisationId, ids);
  await managedResources.deleteByResource(tx, organisationId, 'GuardrailMcpBinding', ids);
}

export const deleteByIds = table.rows.deleteBy('organisation_id', 'id');
