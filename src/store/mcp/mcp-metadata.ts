/** Knows the mcp_metadata table: what the servers of MCP integrations said of themselves when they were last asked. */
import type { Insertable, Selectable } from 'kysely';
import type { Db } from '../connection/db.ts';

interface McpMetadataRow {
  organisation_id: string;
  mcp_integration_id: string;
  /** As model/mcp-found.ts has it; null where no server has said anything. */
  facts: string | null;
  sync_status: 'synced' | 'failed';
  /** Why it could not be asked the last time. */
  sync_error: string | null;
  last_synced_at: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    mcp_metadata: McpMetadataRow;
  }
}

export type StoredMcpMetadata = Selectable<McpMetadataRow>;

/** In place of what is there. */
export async function put(tx: Db, row: Insertable<McpMetadataRow>): Promise<void> {
  const { facts, sync_status, sync_error, last_synced_at } = row;
  await tx
    .insertInto('mcp_metadata')
    .values(row)
    .onDuplicateKeyUpdate({ facts, sync_status, sync_error, last_synced_at })
    .execute();
}

/** What was said before stays. */
export async function putFailure(
  tx: Db,
  at: Pick<StoredMcpMetadata, 'organisation_id' | 'mcp_integration_id'>,
  error: string,
): Promise<void> {
  const told = { sync_status: 'failed', sync_error: error } as const;
  await tx
    .insertInto('mcp_metadata')
    .values({ ...at, ...told, facts: null, last_synced_at: null })
    .onDuplicateKeyUpdate(told)
    .execute();
}

export function find(
  db: Db,
  organisationId: string,
  integrationId: string,
): Promise<StoredMcpMetadata | undefined> {
  return db
    .selectFrom('mcp_metadata')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('mcp_integration_id', '=', integrationId)
    .executeTakeFirst();
}

/** Of those of the integrations of which there is any. */
export function listByIntegrations(
  db: Db,
  organisationId: string,
  integrationIds: readonly string[],
): Promise<StoredMcpMetadata[]> {
  if (integrationIds.length === 0) return Promise.resolve([]);
  return db
    .selectFrom('mcp_metadata')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('mcp_integration_id', 'in', integrationIds)
    .execute();
}

export async function deleteByIntegration(
  tx: Db,
  organisationId: string,
  integrationId: string,
): Promise<void> {
  await tx
    .deleteFrom('mcp_metadata')
    .where('organisation_id', '=', organisationId)
    .where('mcp_integration_id', '=', integrationId)
    .execute();
}
