/** Table functions for mcp_server_capabilities: capabilities that an MCP server enables or disables itself. */
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { rows } from '../rows/rows.ts';
import * as snapshotMarks from '../rows/snapshot-marks.ts';
import type { CapabilityCount, McpCapabilityRow } from './mcp-capabilities.ts';

interface McpServerCapabilityRow {
  organisation_id: string;
  mcp_server_id: string;
  type: McpCapabilityRow['type'];
  /** Binary, like the name in mcp_capabilities. */
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

/** Identifies a capability within an integration or server. */
export interface CapabilityName {
  readonly type: McpCapabilityRow['type'];
  readonly name: string;
}

/** A setting as stored. */
export interface ServerCapability extends CapabilityName {
  readonly enabled: number;
  readonly created_at: number;
  readonly last_updated_at: number;
}

/** A server and its integration. */
export interface McpServerKey {
  readonly organisationId: string;
  readonly serverId: string;
  readonly integrationId: string;
}

export async function upsertMany(
  tx: Db,
  { organisationId, serverId }: Omit<McpServerKey, 'integrationId'>,
  settings: readonly (CapabilityName & { readonly enabled: boolean })[],
  now: number,
): Promise<void> {
  if (settings.length === 0) return;
  snapshotMarks.replaceOne(tx, organisationId);
  const values = settings.map(({ type, name, enabled }) => ({
    organisation_id: organisationId,
    mcp_server_id: serverId,
    type,
    name: Buffer.from(name),
    enabled: Number(enabled),
    created_at: now,
    last_updated_at: now,
  }));
  await tx
    .insertInto('mcp_server_capabilities')
    .values(values)
    .onDuplicateKeyUpdate({
      last_updated_at: sql`if(enabled = values(enabled), last_updated_at, values(last_updated_at))`,
      enabled: sql`values(enabled)`,
    })
    .execute();
}

const table = rows('mcp_server_capabilities');

export const deleteByServer = table.deleteBy('organisation_id', 'mcp_server_id');

/** All settings of one server. */
export async function listByServer(
  db: Db,
  organisationId: string,
  serverId: string,
): Promise<ServerCapability[]> {
  const found = await table.list(
    db,
    { organisation_id: organisationId, mcp_server_id: serverId },
    { columns: ['type', 'name', 'enabled', 'created_at', 'last_updated_at'] },
  );
  return found.map((row) => ({ ...row, name: row.name.toString() }));
}

/** Capabilities disabled at the servers of an organisation, in a fixed order. */
export async function listDisabled(
  db: Db,
  organisationId: string,
): Promise<(CapabilityName & { readonly mcp_server_id: string })[]> {
  const found = await table.list(
    db,
    { organisation_id: organisationId, enabled: 0 },
    { columns: ['mcp_server_id', 'type', 'name'], orderBy: ['mcp_server_id', 'type', 'name'] },
  );
  return found.map((row) => ({ ...row, name: row.name.toString() }));
}

/** Settings for capabilities that the integration does not have, in a fixed order. */
export async function listUnknown(
  db: Db,
  server: McpServerKey,
  type: McpCapabilityRow['type'] | undefined,
  page: Page,
): Promise<ServerCapability[]> {
  if (page.limit === 0) return [];
  const found = await unknown(db, server)
    .select(['s.type', 's.name', 's.enabled', 's.created_at', 's.last_updated_at'])
    .$if(type !== undefined, (some) => some.where('s.type', '=', type!))
    .orderBy('s.type')
    .orderBy('s.name')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
  return found.map((row) => ({ ...row, name: row.name.toString() }));
}

/** Counts a server's capabilities by type: those of its integration, and settings without a capability. */
export async function listCounts(
  db: Db,
  server: McpServerKey,
): Promise<{ known: CapabilityCount[]; unknown: CapabilityCount[] }> {
  const known = await db
    .selectFrom('mcp_capabilities as c')
    .leftJoin('mcp_server_capabilities as s', (join) =>
      join
        .onRef('s.organisation_id', '=', 'c.organisation_id')
        .on('s.mcp_server_id', '=', server.serverId)
        .onRef('s.type', '=', 'c.type')
        .onRef('s.name', '=', 'c.name'),
    )
    .where('c.organisation_id', '=', server.organisationId)
    .where('c.mcp_integration_id', '=', server.integrationId)
    .select((eb) => [
      'c.type',
      eb.fn.countAll<number>().as('total'),
      sql<number>`cast(sum(coalesce(s.enabled, 1)) as unsigned)`.as('enabled'),
    ])
    .groupBy('c.type')
    .execute();
  const others = await unknown(db, server)
    .select((eb) => [
      's.type',
      eb.fn.countAll<number>().as('total'),
      sql<number>`cast(sum(s.enabled) as unsigned)`.as('enabled'),
    ])
    .groupBy('s.type')
    .execute();
  const counted = (counts: readonly CapabilityCount[]): CapabilityCount[] =>
    counts.map((row) => ({ ...row, total: Number(row.total), enabled: Number(row.enabled) }));
  return { known: counted(known), unknown: counted(others) };
}

function unknown(db: Db, { organisationId, serverId, integrationId }: McpServerKey) {
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
