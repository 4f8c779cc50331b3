/** Knows the mcp_server_capabilities table: what is said at an MCP server of single capabilities. */
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import * as snapshotMarks from '../rows/snapshot-marks.ts';
import type { CapabilityCount, McpCapabilityRow } from './mcp-capabilities.ts';

interface McpServerCapabilityRow {
  organisation_id: string;
  mcp_server_id: string;
  type: McpCapabilityRow['type'];
  /** As bytes, like that of the integration's capability. */
  name: Buffer;
  enabled: number;
  created_at: number;
  last_updated_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    mcp_server_capabilities: McpServerCapabilityRow;
  }
}

/** What tells a capability of one integration or server. */
export interface CapabilityName {
  readonly type: McpCapabilityRow['type'];
  readonly name: string;
}

/** What is said of one, as stored. */
export interface ServerCapability extends CapabilityName {
  readonly enabled: number;
  readonly created_at: number;
  readonly last_updated_at: number;
}

/** A server, and the integration that it is an instance of. */
export interface ServerPlace {
  readonly organisationId: string;
  readonly serverId: string;
  readonly integrationId: string;
}

export async function upsertMany(
  tx: Db,
  { organisationId, serverId }: Omit<ServerPlace, 'integrationId'>,
  settings: readonly (CapabilityName & { readonly enabled: boolean })[],
  now: number,
): Promise<void> {
  if (settings.length === 0) return;
  snapshotMarks.replaceOne(tx, organisationId);
  const rows = settings.map(({ type, name, enabled }) => ({
    ...{ organisation_id: organisationId, mcp_server_id: serverId },
    ...{ type, name: Buffer.from(name), enabled: Number(enabled) },
    ...{ created_at: now, last_updated_at: now },
  }));
  await tx
    .insertInto('mcp_server_capabilities')
    .values(rows)
    .onDuplicateKeyUpdate({
      last_updated_at: sql`if(enabled = values(enabled), last_updated_at, values(last_updated_at))`,
      enabled: sql`values(enabled)`,
    })
    .execute();
}

export async function deleteByServer(
  tx: Db,
  organisationId: string,
  serverId: string,
): Promise<void> {
  await tx
    .deleteFrom('mcp_server_capabilities')
    .where('organisation_id', '=', organisationId)
    .where('mcp_server_id', '=', serverId)
    .execute();
}

/** All that is said at one server. */
export async function listByServer(
  db: Db,
  organisationId: string,
  serverId: string,
): Promise<ServerCapability[]> {
  const rows = await db
    .selectFrom('mcp_server_capabilities')
    .select(['type', 'name', 'enabled', 'created_at', 'last_updated_at'])
    .where('organisation_id', '=', organisationId)
    .where('mcp_server_id', '=', serverId)
    .execute();
  return rows.map((row) => ({ ...row, name: row.name.toString() }));
}

/** What is disabled at the servers of an organisation, in a fixed order. */
export async function listDisabled(
  db: Db,
  organisationId: string,
): Promise<(CapabilityName & { readonly mcp_server_id: string })[]> {
  const rows = await db
    .selectFrom('mcp_server_capabilities')
    .select(['mcp_server_id', 'type', 'name'])
    .where('organisation_id', '=', organisationId)
    .where('enabled', '=', 0)
    .orderBy('mcp_server_id')
    .orderBy('type')
    .orderBy('name')
    .execute();
  return rows.map((row) => ({ ...row, name: row.name.toString() }));
}

/** What is said at a server of capabilities that its integration does not know, in a fixed order. */
export async function listUnknown(
  db: Db,
  place: ServerPlace,
  type: McpCapabilityRow['type'] | undefined,
  page: Page,
): Promise<ServerCapability[]> {
  if (page.limit === 0) return [];
  const rows = await unknown(db, place)
    .select(['s.type', 's.name', 's.enabled', 's.created_at', 's.last_updated_at'])
    .$if(type !== undefined, (some) => some.where('s.type', '=', type!))
    .orderBy('s.type')
    .orderBy('s.name')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
  return rows.map((row) => ({ ...row, name: row.name.toString() }));
}

/** How many a server has by type, and how many are enabled there: first those that the integration knows. */
export async function listCounts(
  db: Db,
  place: ServerPlace,
): Promise<{ known: CapabilityCount[]; unknown: CapabilityCount[] }> {
  const known = await db
    .selectFrom('mcp_capabilities as c')
    .leftJoin('mcp_server_capabilities as s', (join) =>
      join
        .onRef('s.organisation_id', '=', 'c.organisation_id')
        .on('s.mcp_server_id', '=', place.serverId)
        .onRef('s.type', '=', 'c.type')
        .onRef('s.name', '=', 'c.name'),
    )
    .where('c.organisation_id', '=', place.organisationId)
    .where('c.mcp_integration_id', '=', place.integrationId)
    .select((eb) => [
      'c.type',
      eb.fn.countAll<number>().as('total'),
      sql<number>`cast(sum(coalesce(s.enabled, 1)) as unsigned)`.as('enabled'),
    ])
    .groupBy('c.type')
    .execute();
  const others = await unknown(db, place)
    .select((eb) => [
      's.type',
      eb.fn.countAll<number>().as('total'),
      sql<number>`cast(sum(s.enabled) as unsigned)`.as('enabled'),
    ])
    .groupBy('s.type')
    .execute();
  const counted = (rows: readonly CapabilityCount[]): CapabilityCount[] =>
    rows.map((row) => ({ ...row, total: Number(row.total), enabled: Number(row.enabled) }));
  return { known: counted(known), unknown: counted(others) };
}

function unknown(db: Db, { organisationId, serverId, integrationId }: ServerPlace) {
  return db
    .selectFrom('mcp_server_capabilities as s')
    .leftJoin('mcp_capabilities as c', (join) =>
      join
        .onRef('c.organisation_id', '=', 's.organisation_id')
        .on('c.mcp_integration_id', '=', integrationId)
        .onRef('c.type', '=', 's.type')
        .onRef('c.name', '=', 's.name'),
    )
    .where('s.organisation_id', '=', organisationId)
    .where('s.mcp_server_id', '=', serverId)
    .where('c.id', 'is', null);
}
