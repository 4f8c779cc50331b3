/** Knows what a workspace holds in other tables, and how all of it goes at once. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';

/** One resource of a workspace; kinds are those of model/kinds.ts. */
export interface WorkspaceItem {
  readonly kind:
    | 'ApiKey'
    | 'Config'
    | 'Guardrail'
    | 'GuardrailMcpBinding'
    | 'McpIntegration'
    | 'McpServer'
    | 'UsageLimitPolicy';
  readonly id: string;
}

/** What other rows can come to refer to, guardrails before servers as a mapping's author locks them. */
const lockedFirst = ['guardrails', 'mcp_integrations', 'mcp_servers', 'configs', 'api_keys'];

/**
 * Everything of the workspace that is not archived, with the mappings that touch it. Nothing can come
 * to refer to any of it until the transaction ends: whoever was about to has finished, or will find
 * it gone.
 */
export async function list(
  tx: Db,
  organisationId: string,
  workspaceId: string,
): Promise<WorkspaceItem[]> {
  const held = sql`organisation_id = ${organisationId} and workspace_id = ${workspaceId}`;
  for (const table of lockedFirst) {
    await sql`select id from ${sql.table(table)} where ${held} for update`.execute(tx);
  }
  const { rows } = await sql<WorkspaceItem>`
    select 'ApiKey' as kind, id from api_keys where ${held}
    union all select 'Config', id from configs where ${held}
    union all select 'GuardrailMcpBinding', id from guardrail_mcp_mappings
      where ${touching(organisationId, workspaceId)}
    union all select 'Guardrail', id from guardrails where ${held}
    union all select 'McpServer', id from mcp_servers where ${held}
    union all select 'McpIntegration', id from mcp_integrations where ${held}
    union all select 'UsageLimitPolicy', id from usage_limit_policies
      where ${held} and status = 'active'`.execute(tx);
  return rows;
}

/** Deletes what {@link list} yields, policies excepted: those are archived, as their own delete does. */
export async function deleteAll(
  tx: Db,
  organisationId: string,
  workspaceId: string,
  now: number,
): Promise<void> {
  const held = sql`organisation_id = ${organisationId} and workspace_id = ${workspaceId}`;
  const idsIn = (table: string) => sql`(select id from ${sql.table(table)} where ${held})`;
  const bytesIn = (table: string) =>
    sql`(select unhex(replace(id, '-', '')) from ${sql.table(table)} where ${held})`;
  const statements = [
    sql`delete from usage_entities
      where organisation_id = ${organisationId}
        and subject_kind = 'api_key' and subject_id in ${idsIn('api_keys')}`,
    sql`delete from usage_entities where organisation_id = ${organisationId}
      and subject_kind = 'workspace' and subject_id = ${workspaceId}`,
    sql`delete from api_key_hashes
      where organisation_id = ${organisationId} and api_key_id in ${idsIn('api_keys')}`,
    sql`delete from api_keys where ${held}`,
    sql`delete from config_versions
      where organisation_id = ${organisationId} and resource_id in ${bytesIn('configs')}`,
    sql`delete from configs where ${held}`,
    sql`delete from guardrail_mcp_mappings where ${touching(organisationId, workspaceId)}`,
    sql`delete from guardrail_versions
      where organisation_id = ${organisationId} and resource_id in ${bytesIn('guardrails')}`,
    sql`delete from guardrails where ${held}`,
    sql`delete from mcp_servers where ${held}`,
    sql`delete from mcp_capabilities where organisation_id = ${organisationId}
      and mcp_integration_id in ${idsIn('mcp_integrations')}`,
    sql`delete from mcp_integrations where ${held}`,
    sql`update usage_limit_policies
      set status = 'archived', version = version + 1, last_updated_at = ${now}
      where ${held} and status = 'active'`,
  ];
  for (const statement of statements) await statement.execute(tx);
}

/** Mappings of the workspace's guardrails and onto its servers. */
function touching(organisationId: string, workspaceId: string) {
  const held = sql`organisation_id = ${organisationId} and workspace_id = ${workspaceId}`;
  return sql`organisation_id = ${organisationId}
    and (guardrail_id in (select id from guardrails where ${held})
      or mcp_server_id in (select id from mcp_servers where ${held}))`;
}
