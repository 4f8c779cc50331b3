/** Knows the mcp_servers table: integrations as workspaces use them. */
import type { Insertable, Selectable, Updateable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from './paging.ts';
import { readReference } from './references.ts';
import type { Versioned } from './versioned.ts';

export interface McpServerRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string;
  mcp_integration_id: string;
  slug: string;
  name: string;
  description: string | null;
  status: 'active' | 'archived';
}

declare module '../connection/db.ts' {
  interface Tables {
    mcp_servers: McpServerRow;
  }
}

/** A server as stored. */
export type StoredMcpServer = Selectable<McpServerRow>;

/** Throws errno 1062 when the slug is taken. */
export async function insert(tx: Db, row: Insertable<McpServerRow>): Promise<void> {
  await tx.insertInto('mcp_servers').values(row).execute();
}

export function findByIdOrSlug(
  db: Db,
  organisationId: string,
  reference: string,
): Promise<StoredMcpServer | undefined> {
  return byReference(db, organisationId, reference).executeTakeFirst();
}

export function findByIdOrSlugForUpdate(
  tx: Db,
  organisationId: string,
  reference: string,
): Promise<StoredMcpServer | undefined> {
  return byReference(tx, organisationId, reference).forUpdate().executeTakeFirst();
}

/** Those that exist of the named ones; none of them can be deleted until the transaction ends. */
export function listByReferencesForShare(
  tx: Db,
  organisationId: string,
  references: readonly string[],
): Promise<StoredMcpServer[]> {
  if (references.length === 0) return Promise.resolve([]);
  const read = references.map(readReference);
  const valuesOf = (column: 'id' | 'slug'): string[] =>
    read.filter((reference) => reference.column === column).map(({ value }) => value);
  const [ids, slugs] = [valuesOf('id'), valuesOf('slug')];
  return (
    tx
      .selectFrom('mcp_servers')
      .selectAll()
      .where('organisation_id', '=', organisationId)
      .where((eb) =>
        eb.or([
          ...(ids.length === 0 ? [] : [eb('id', 'in', ids)]),
          ...(slugs.length === 0 ? [] : [eb('slug', 'in', slugs)]),
        ]),
      )
      // MariaDB knows this spelling only; MySQL knows it too.
      .modifyEnd(sql`lock in share mode`)
      .execute()
  );
}

/** A server made from the integration, if there is one. */
export function findByIntegration(
  db: Db,
  organisationId: string,
  integrationId: string,
): Promise<StoredMcpServer | undefined> {
  return db
    .selectFrom('mcp_servers')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('mcp_integration_id', '=', integrationId)
    .limit(1)
    .executeTakeFirst();
}

export interface McpServerFilter {
  readonly workspaceId?: string | undefined;
  readonly ids?: readonly string[] | undefined;
  /** Part of the name or slug, in any case. */
  readonly search?: string | undefined;
}

export function list(
  db: Db,
  organisationId: string,
  filter: McpServerFilter,
  page: Page,
): Promise<{ rows: StoredMcpServer[]; total: number }> {
  let query = db.selectFrom('mcp_servers').where('organisation_id', '=', organisationId);
  if (filter.workspaceId !== undefined) {
    query = query.where('workspace_id', '=', filter.workspaceId);
  }
  if (filter.ids !== undefined) query = query.where('id', 'in', filter.ids);
  if (filter.search !== undefined) {
    const part = sql`lower(cast(${filter.search} as char))`;
    query = query.where(
      sql<boolean>`(locate(${part}, lower(name)) > 0 or locate(${part}, lower(slug)) > 0)`,
    );
  }
  return listPage(query, page);
}

export function listAllForOrganisation(db: Db, organisationId: string): Promise<StoredMcpServer[]> {
  return db
    .selectFrom('mcp_servers')
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
  fields: Omit<Updateable<McpServerRow>, 'id' | 'organisation_id' | 'version'>,
): Promise<void> {
  await tx
    .updateTable('mcp_servers')
    .set({ ...fields, version: sql`version + 1` })
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .execute();
}

export async function deleteById(tx: Db, organisationId: string, id: string): Promise<void> {
  await tx
    .deleteFrom('mcp_servers')
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .execute();
}

function byReference(db: Db, organisationId: string, text: string) {
  const { column, value } = readReference(text);
  return db
    .selectFrom('mcp_servers')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where(column, '=', value);
}
