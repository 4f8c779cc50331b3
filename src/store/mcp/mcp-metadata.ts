/** Table functions for mcp_metadata: what the servers of MCP integrations reported at the last discovery. */
import type { Insertable, Selectable } from 'kysely';
import type { Db } from '../connection/db.ts';
import { rows } from '../rows/rows.ts';

interface McpMetadataRow {
  organisation_id: string;
  mcp_integration_id: string;
  /** In the form of model/mcp/mcp-discovery.ts; null when no discovery has succeeded. */
  facts: string | null;
  sync_status: 'synced' | 'failed';
  /** Why the last discovery failed. */
  sync_error: string | null;
  last_synced_at: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    mcp_metadata: McpMetadataRow;
  }
}

export type StoredMcpMetadata = Selectable<McpMetadataRow>;

/** Inserts or replaces. */
export async function put(tx: Db, row: Insertable<McpMetadataRow>): Promise<void> {
  const { facts, sync_status, sync_error, last_synced_at } = row;
  await tx
    .insertInto('mcp_metadata')
    .values(row)
    .onDuplicateKeyUpdate({ facts, sync_status, sync_error, last_synced_at })
    .execute();
}

/** Records a failed discovery; earlier facts stay. */
export async function putFailure(
  tx: Db,
  at: Pick<StoredMcpMetadata, 'organisation_id' | 'mcp_integration_id'>,
  error: string,
): Promise<void> {
  const failure = { sync_status: 'failed', sync_error: error } as const;
  await tx
    .insertInto('mcp_metadata')
    .values({ ...at, ...failure, facts: null, last_synced_at: null })
    .onDuplicateKeyUpdate(failure)
    .execute();
}

const table = rows('mcp_metadata');

export const find = table.findBy('organisation_id', 'mcp_integration_id');
export const listByIntegrations = table.listBy(['organisation_id', 'mcp_integration_id']);
export const deleteByIntegration = table.deleteBy('organisation_id', 'mcp_integration_id');
