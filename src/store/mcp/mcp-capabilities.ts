/** Table functions for mcp_capabilities: the tools, prompts and resources of an integration. */
import type { Insertable, Selectable } from 'kysely';
import { sql } from 'kysely';
import type { McpCapabilityType } from '../../model/mcp/mcp-integration.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from '../rows/paging.ts';
import { rows } from '../rows/rows.ts';
import * as snapshotMarks from '../rows/snapshot-marks.ts';

export interface McpCapabilityRow {
  id: string;
  organisation_id: string;
  mcp_integration_id: string;
  type: McpCapabilityType;
  /** Binary, because text comparison ignores trailing spaces. */
  name: Buffer;
  enabled: number;
  /** The server's description, in the form of model/mcp/mcp-discovery.ts; null before the first discovery. */
  facts: string | null;
  /** When the server last listed it. */
  last_seen_at: number | null;
  created_at: number;
  last_updated_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    mcp_capabilities: McpCapabilityRow;
  }
}

/** A capability as stored. */
export type StoredMcpCapability = WithTextName<Selectable<McpCapabilityRow>>;

type WithTextName<Row> = Omit<Row, 'name'> & { readonly name: string };

const table = rows('mcp_capabilities');

/** Inserts capabilities. An existing one (by type and name) keeps its id; only `enabled` is updated. */
export async function upsertMany(
  tx: Db,
  organisationId: string,
  capabilities: readonly WithTextName<Insertable<McpCapabilityRow>>[],
): Promise<void> {
  if (capabilities.length === 0) return;
  snapshotMarks.replaceOne(tx, organisationId);
  await tx
    .insertInto('mcp_capabilities')
    .values(capabilities.map((row) => ({ ...row, name: Buffer.from(row.name) })))
    .onDuplicateKeyUpdate({
      last_updated_at: sql`if(enabled = values(enabled), last_updated_at, values(last_updated_at))`,
      enabled: sql`values(enabled)`,
    })
    .execute();
}

/** Inserts discovered capabilities as enabled. An existing one gets new facts and `last_seen_at`. */
export async function upsertFound(
  tx: Db,
  capabilities: readonly WithTextName<Insertable<McpCapabilityRow>>[],
): Promise<void> {
  if (capabilities.length === 0) return;
  await tx
    .insertInto('mcp_capabilities')
    .values(capabilities.map((row) => ({ ...row, name: Buffer.from(row.name) })))
    .onDuplicateKeyUpdate({
      facts: sql`values(facts)`,
      last_seen_at: sql`values(last_seen_at)`,
    })
    .execute();
}

export async function list(
  db: Db,
  organisationId: string,
  filter: {
    readonly integrationId: string;
    readonly type?: McpCapabilityRow['type'] | undefined;
  },
  page: Page,
): Promise<{ rows: StoredMcpCapability[]; total: number }> {
  const query = table.matching(db, {
    organisation_id: organisationId,
    mcp_integration_id: filter.integrationId,
    type: filter.type,
  });
  const found = await listPage({ db, stamp: null }, query, page);
  return { rows: found.rows.map(withNameAsText), total: found.total };
}

export interface CapabilityCount {
  readonly type: McpCapabilityRow['type'];
  readonly total: number;
  readonly enabled: number;
}

export async function listCounts(
  db: Db,
  organisationId: string,
  integrationId: string,
): Promise<CapabilityCount[]> {
  const counts = await table
    .matching(db, { organisation_id: organisationId, mcp_integration_id: integrationId })
    .select((eb) => [
      'type',
      eb.fn.countAll<number>().as('total'),
      sql<number>`cast(sum(enabled) as unsigned)`.as('enabled'),
    ])
    .groupBy('type')
    .execute();
  return counts.map((row) => ({
    ...row,
    total: Number(row.total),
    enabled: Number(row.enabled),
  }));
}

/** All capabilities of an integration. */
export async function listByIntegration(
  db: Db,
  organisationId: string,
  integrationId: string,
): Promise<Pick<StoredMcpCapability, 'type' | 'name' | 'enabled'>[]> {
  const found = await table.list(
    db,
    { organisation_id: organisationId, mcp_integration_id: integrationId },
    { columns: ['type', 'name', 'enabled'] },
  );
  return found.map(withNameAsText);
}

/** A capability with the addresses that the server has reported, and the schema of a tool with header arguments. */
export interface CapabilityAddress {
  readonly id: string;
  readonly type: McpCapabilityType;
  readonly name: string;
  readonly enabled: number;
  readonly uri: string | null;
  readonly uri_template: string | null;
  /** Facts of a tool whose arguments have headers, as JSON; null for any other capability. */
  readonly facts: string | null;
}

/** All capabilities of an integration. Facts are read only where they are needed, because they are large. */
export async function listAddresses(
  db: Db,
  organisationId: string,
  integrationId: string,
): Promise<CapabilityAddress[]> {
  const fact = (path: string) =>
    sql<string | null>`nullif(json_unquote(json_extract(facts, ${path})), 'null')`;
  const found = await table
    .matching(db, { organisation_id: organisationId, mcp_integration_id: integrationId })
    .select(['id', 'type', 'name', 'enabled'])
    .select(fact('$.uri').as('uri'))
    .select(fact('$.uri_template').as('uri_template'))
    .select(
      sql<string | null>`if(type = 'tool' and facts like '%x-mcp-header%', facts, null)`.as(
        'facts',
      ),
    )
    .execute();
  return found.map((row) => ({ ...row, name: row.name.toString() }));
}

/** Disabled capabilities of all integrations, in a fixed order. */
export async function listDisabled(
  db: Db,
  organisationId: string,
): Promise<Pick<StoredMcpCapability, 'mcp_integration_id' | 'type' | 'name'>[]> {
  const found = await table.list(
    db,
    { organisation_id: organisationId, enabled: 0 },
    {
      columns: ['mcp_integration_id', 'type', 'name'],
      orderBy: ['mcp_integration_id', 'type', 'name'],
    },
  );
  return found.map(withNameAsText);
}

/** Omits ids that do not exist; the rest may belong to any integration. */
export const listByIds = table.listBy(['organisation_id', 'id'], {
  columns: ['id', 'mcp_integration_id'],
});

export const deleteByIntegration = table.deleteBy('organisation_id', 'mcp_integration_id');

function withNameAsText<Row extends { readonly name: Buffer }>(row: Row) {
  return { ...row, name: row.name.toString() };
}
