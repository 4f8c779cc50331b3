/** Knows the mcp_integrations table. Secret values in it are sealed before they come here. */
import type { Insertable, Selectable, Updateable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from './paging.ts';
import { readReference } from './references.ts';
import type { Versioned } from './versioned.ts';

export interface McpIntegrationRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  slug: string;
  name: string;
  description: string | null;
  url: string;
  auth_type: string;
  transport: string;
  configurations: string | null;
  secret_mappings: string | null;
  status: 'active' | 'archived';
  owner_id: string;
}

declare module '../connection/db.ts' {
  interface Tables {
    mcp_integrations: McpIntegrationRow;
  }
}

/** An integration as stored. */
export type StoredMcpIntegration = Selectable<McpIntegrationRow>;

/** Throws errno 1062 when the slug is taken. */
export async function insert(tx: Db, row: Insertable<McpIntegrationRow>): Promise<void> {
  await tx.insertInto('mcp_integrations').values(row).execute();
}

export function findByIdOrSlug(
  db: Db,
  organisationId: string,
  reference: string,
): Promise<StoredMcpIntegration | undefined> {
  return byReference(db, organisationId, reference).executeTakeFirst();
}

/** Keeps the integration from being deleted until the transaction ends. */
export function findByIdOrSlugForShare(
  tx: Db,
  organisationId: string,
  reference: string,
): Promise<StoredMcpIntegration | undefined> {
  // MariaDB knows this spelling only; MySQL knows it too.
  return byReference(tx, organisationId, reference)
    .modifyEnd(sql`lock in share mode`)
    .executeTakeFirst();
}

export function findByIdOrSlugForUpdate(
  tx: Db,
  organisationId: string,
  reference: string,
): Promise<StoredMcpIntegration | undefined> {
  return byReference(tx, organisationId, reference).forUpdate().executeTakeFirst();
}

export function listByIds(
  db: Db,
  organisationId: string,
  ids: readonly string[],
): Promise<StoredMcpIntegration[]> {
  if (ids.length === 0) return Promise.resolve([]);
  return db
    .selectFrom('mcp_integrations')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('id', 'in', ids)
    .execute();
}

export interface McpIntegrationFilter {
  readonly workspaceId?: string | undefined;
  readonly type?: 'workspace' | 'organisation' | undefined;
  /** Part of the name or slug, in any case. */
  readonly search?: string | undefined;
}

export function list(
  db: Db,
  organisationId: string,
  filter: McpIntegrationFilter,
  page: Page,
): Promise<{ rows: StoredMcpIntegration[]; total: number }> {
  let query = db.selectFrom('mcp_integrations').where('organisation_id', '=', organisationId);
  if (filter.workspaceId !== undefined) {
    query = query.where('workspace_id', '=', filter.workspaceId);
  }
  if (filter.type !== undefined) {
    query = query.where('workspace_id', filter.type === 'workspace' ? 'is not' : 'is', null);
  }
  if (filter.search !== undefined) {
    const part = sql`lower(cast(${filter.search} as char))`;
    query = query.where(
      sql<boolean>`(locate(${part}, lower(name)) > 0 or locate(${part}, lower(slug)) > 0)`,
    );
  }
  return listPage(query, page);
}

export function listAllForOrganisation(
  db: Db,
  organisationId: string,
): Promise<StoredMcpIntegration[]> {
  return db
    .selectFrom('mcp_integrations')
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
  fields: Omit<Updateable<McpIntegrationRow>, 'id' | 'organisation_id' | 'version'>,
): Promise<void> {
  await tx
    .updateTable('mcp_integrations')
    .set({ ...fields, version: sql`version + 1` })
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .execute();
}

export async function deleteById(tx: Db, organisationId: string, id: string): Promise<void> {
  await tx
    .deleteFrom('mcp_integrations')
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .execute();
}

function byReference(db: Db, organisationId: string, text: string) {
  const { column, value } = readReference(text);
  return db
    .selectFrom('mcp_integrations')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where(column, '=', value);
}
