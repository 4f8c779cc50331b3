/** Knows the mcp_capabilities table: the tools, prompts and resources an integration is known to offer. */
import type { Insertable, Selectable } from 'kysely';
import { sql } from 'kysely';
import type { McpCapabilityType } from '../../model/mcp/mcp-integration.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from '../rows/paging.ts';
import * as snapshotMarks from '../rows/snapshot-marks.ts';

export interface McpCapabilityRow {
  id: string;
  organisation_id: string;
  mcp_integration_id: string;
  type: McpCapabilityType;
  /** As bytes: text would compare equal to the same text with spaces behind it. */
  name: Buffer;
  enabled: number;
  /** What the server says of it, as model/mcp-found.ts has it; null before it has. */
  facts: string | null;
  /** When the server last offered it. */
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
export type StoredMcpCapability = Named<Selectable<McpCapabilityRow>>;

type Named<Row> = Omit<Row, 'name'> & { readonly name: string };

/** Adds capabilities; of those known by type and name only `enabled` is written, and ids stay. */
export async function upsertMany(
  tx: Db,
  organisationId: string,
  rows: readonly Named<Insertable<McpCapabilityRow>>[],
): Promise<void> {
  if (rows.length === 0) return;
  snapshotMarks.replaceOne(tx, organisationId);
  await tx
    .insertInto('mcp_capabilities')
    .values(rows.map((row) => ({ ...row, name: Buffer.from(row.name) })))
    .onDuplicateKeyUpdate({
      last_updated_at: sql`if(enabled = values(enabled), last_updated_at, values(last_updated_at))`,
      enabled: sql`values(enabled)`,
    })
    .execute();
}

/** Adds what a server offers, enabled; of what is known its facts are written, and when it was seen. */
export async function upsertFound(
  tx: Db,
  rows: readonly Named<Insertable<McpCapabilityRow>>[],
): Promise<void> {
  if (rows.length === 0) return;
  await tx
    .insertInto('mcp_capabilities')
    .values(rows.map((row) => ({ ...row, name: Buffer.from(row.name) })))
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
  let query = db
    .selectFrom('mcp_capabilities')
    .where('organisation_id', '=', organisationId)
    .where('mcp_integration_id', '=', filter.integrationId);
  if (filter.type !== undefined) query = query.where('type', '=', filter.type);
  const { rows, total } = await listPage({ db, stamp: null }, query, page);
  return { rows: rows.map((row) => ({ ...row, name: row.name.toString() })), total };
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
  const rows = await db
    .selectFrom('mcp_capabilities')
    .select((eb) => [
      'type',
      eb.fn.countAll<number>().as('total'),
      sql<number>`cast(sum(enabled) as unsigned)`.as('enabled'),
    ])
    .where('organisation_id', '=', organisationId)
    .where('mcp_integration_id', '=', integrationId)
    .groupBy('type')
    .execute();
  return rows.map((row) => ({ ...row, total: Number(row.total), enabled: Number(row.enabled) }));
}

/** All of an integration's. */
export async function listByIntegration(
  db: Db,
  organisationId: string,
  integrationId: string,
): Promise<Pick<StoredMcpCapability, 'type' | 'name' | 'enabled'>[]> {
  const rows = await db
    .selectFrom('mcp_capabilities')
    .select(['type', 'name', 'enabled'])
    .where('organisation_id', '=', organisationId)
    .where('mcp_integration_id', '=', integrationId)
    .execute();
  return rows.map((row) => ({ ...row, name: row.name.toString() }));
}

/** What is disabled of the integrations of an organisation, in a fixed order. */
export async function listDisabled(
  db: Db,
  organisationId: string,
): Promise<Pick<StoredMcpCapability, 'mcp_integration_id' | 'type' | 'name'>[]> {
  const rows = await db
    .selectFrom('mcp_capabilities')
    .select(['mcp_integration_id', 'type', 'name'])
    .where('organisation_id', '=', organisationId)
    .where('enabled', '=', 0)
    .orderBy('mcp_integration_id')
    .orderBy('type')
    .orderBy('name')
    .execute();
  return rows.map((row) => ({ ...row, name: row.name.toString() }));
}

/** Those of the given ids that exist, whatever their integration. */
export function listByIds(
  db: Db,
  organisationId: string,
  ids: readonly string[],
): Promise<Pick<StoredMcpCapability, 'id' | 'mcp_integration_id'>[]> {
  if (ids.length === 0) return Promise.resolve([]);
  return db
    .selectFrom('mcp_capabilities')
    .select(['id', 'mcp_integration_id'])
    .where('organisation_id', '=', organisationId)
    .where('id', 'in', ids)
    .execute();
}

export async function deleteByIntegration(
  tx: Db,
  organisationId: string,
  integrationId: string,
): Promise<void> {
  await tx
    .deleteFrom('mcp_capabilities')
    .where('organisation_id', '=', organisationId)
    .where('mcp_integration_id', '=', integrationId)
    .execute();
}
