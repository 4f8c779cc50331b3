/** Knows the log_exports table, and log_export_parts: what was asked of the log, how far it is written, and in which pieces. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { ExportStatus } from '../../model/logs/log-export.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from '../rows/paging.ts';
import * as exportMarks from './export-marks.ts';

interface LogExportRow {
  organisation_id: string;
  id: string;
  workspace_id: string | null;
  status: ExportStatus;
  description: string;
  /** JSON as it was sent. */
  filters: string;
  /** JSON of an ExportSelection. */
  selection: string;
  /** JSON list of fields. */
  requested_data: string;
  /** The last request that was looked at; null for none. */
  after_at: number | null;
  after_id: Buffer | null;
  /** Requests that ended later are none of it; null before it is started. */
  until_at: number | null;
  records: number;
  bytes: number;
  /** How many pieces are written, numbered from 0. */
  parts: number;
  created_by: string;
  version: number;
  created_at: number;
  last_updated_at: number;
  started_at: number | null;
  finished_at: number | null;
}

interface LogExportPartRow {
  organisation_id: string;
  export_id: string;
  number: number;
  blob_id: string;
}

declare module '../connection/db.ts' {
  interface Tables {
    log_exports: LogExportRow;
    log_export_parts: LogExportPartRow;
  }
}

export type StoredLogExport = Selectable<LogExportRow>;

export async function insert(tx: Db, row: StoredLogExport): Promise<void> {
  exportMarks.replaceOne(tx, row.organisation_id);
  await tx.insertInto('log_exports').values(row).execute();
}

/** One that is not archived. */
export function find(
  db: Db,
  organisationId: string,
  id: string,
): Promise<StoredLogExport | undefined> {
  return named(db, organisationId, id).executeTakeFirst();
}

/** As {@link find}; held until the transaction ends. */
export function findForUpdate(
  tx: Db,
  organisationId: string,
  id: string,
): Promise<StoredLogExport | undefined> {
  return named(tx, organisationId, id).forUpdate().executeTakeFirst();
}

function named(db: Db, organisationId: string, id: string) {
  return db
    .selectFrom('log_exports')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .where('status', '!=', 'archived');
}

interface ListFilter {
  readonly workspaceId: string | undefined;
  readonly status: ExportStatus | undefined;
  /** About requests of no other keys than these; null for any. */
  readonly ofKeys: readonly string[] | null;
}

/** Those that are not archived; of all workspaces where none is named. */
export function list(db: Db, organisationId: string, filter: ListFilter, page: Page) {
  let query = db
    .selectFrom('log_exports')
    .where('organisation_id', '=', organisationId)
    .where('status', '!=', 'archived');
  const { workspaceId, status, ofKeys } = filter;
  if (workspaceId !== undefined) query = query.where('workspace_id', '=', workspaceId);
  if (status !== undefined) query = query.where('status', '=', status);
  if (ofKeys !== null) {
    const keys = sql<string>`JSON_EXTRACT(selection, '$.apiKeyIds')`;
    query = query.where(sql<boolean>`JSON_CONTAINS(${JSON.stringify(ofKeys)}, ${keys})`);
  }
  return listPage({ db, stamp: exportMarks.stampOf('log_exports', organisationId) }, query, page);
}

/** Counts the write. */
export async function update(
  tx: Db,
  { organisation_id, id }: Pick<StoredLogExport, 'organisation_id' | 'id'>,
  columns: Partial<StoredLogExport>,
): Promise<void> {
  exportMarks.replaceOne(tx, organisation_id);
  await tx
    .updateTable('log_exports')
    .set({ ...columns, version: sql`version + 1` })
    .where('organisation_id', '=', organisation_id)
    .where('id', '=', id)
    .execute();
}

/** Up to `limit` that are being written, of any organisation. */
export function listInProgress(
  db: Db,
  limit: number,
): Promise<Pick<StoredLogExport, 'organisation_id' | 'id'>[]> {
  return db
    .selectFrom('log_exports')
    .select(['organisation_id', 'id'])
    .where('status', '=', 'in_progress')
    .orderBy('organisation_id')
    .orderBy('id')
    .limit(limit)
    .execute();
}

export async function insertPart(tx: Db, row: LogExportPartRow): Promise<void> {
  await tx.insertInto('log_export_parts').values(row).execute();
}

/** Ids of the bytes of its pieces, in their order. */
export async function listParts(db: Db, organisationId: string, id: string): Promise<string[]> {
  const rows = await db
    .selectFrom('log_export_parts')
    .select('blob_id')
    .where('organisation_id', '=', organisationId)
    .where('export_id', '=', id)
    .orderBy('number')
    .execute();
  return rows.map(({ blob_id }) => blob_id);
}

export async function deleteParts(tx: Db, organisationId: string, id: string): Promise<void> {
  await tx
    .deleteFrom('log_export_parts')
    .where('organisation_id', '=', organisationId)
    .where('export_id', '=', id)
    .execute();
}
