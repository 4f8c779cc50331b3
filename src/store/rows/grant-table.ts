/** Reads that both tables of workspace access to integrations have in common. */
import type { Kysely, Selectable } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db, Tables } from '../connection/db.ts';
import { listPage } from './paging.ts';
import * as snapshotMarks from './snapshot-marks.ts';

/** The tables with their column of the integration's id. */
const integrationColumns = {
  integration_workspaces: 'integration_id',
  mcp_integration_workspaces: 'mcp_integration_id',
} as const;

type GrantTable = keyof typeof integrationColumns;

/** A row for the queries below, with the column of its own table. */
type GrantColumns = Record<
  (typeof integrationColumns)[GrantTable] | 'id' | 'organisation_id',
  string
>;

/** The functions of one of the tables. */
export function grantTable<T extends GrantTable>(table: T) {
  type StoredGrant = Selectable<Tables[T]>;
  const column: (typeof integrationColumns)[GrantTable] = integrationColumns[table];
  const rowsOf = (db: Db, organisationId: string) =>
    (db as unknown as Kysely<{ t: GrantColumns }>)
      .selectFrom(table as unknown as 't')
      .where('organisation_id', '=', organisationId);
  const ofIntegration = (db: Db, organisationId: string, integrationId: string) =>
    rowsOf(db, organisationId).where(column, '=', integrationId);
  const oldestFirst = async (query: ReturnType<typeof rowsOf>) =>
    (await query.selectAll().orderBy('id').execute()) as unknown as StoredGrant[];
  return {
    /** Oldest first. */
    listByIntegration: (db: Db, organisationId: string, integrationId: string) =>
      oldestFirst(ofIntegration(db, organisationId, integrationId)),
    /** One page of one integration's rows, newest first. */
    list: async (db: Db, organisationId: string, integrationId: string, page: Page) => {
      const source = { db, stamp: snapshotMarks.stampOf(table, organisationId) };
      const query = ofIntegration(db, organisationId, integrationId);
      const { rows, total } = await listPage(source, query, page);
      return { rows: rows as unknown as StoredGrant[], total };
    },
    /** Oldest first. */
    listAllForOrganisation: (db: Db, organisationId: string) =>
      oldestFirst(rowsOf(db, organisationId)),
  };
}
