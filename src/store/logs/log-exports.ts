/** Table functions for log_exports and log_export_parts: requested exports, their progress and their parts. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { ExportStatus } from '../../model/logs/log-export.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from '../rows/paging.ts';
import { not } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';
import * as exportMarks from './export-marks.ts';

interface LogExportRow {
  organisation_id: string;
  id: string;
  workspace_id: string | null;
  status: ExportStatus;
  description: string;
  /** JSON as sent. */
  filters: string;
  /** ExportSelection as JSON. */
  selection: string;
  /** JSON list of fields. */
  requested_data: string;
  /** The last log entry processed; null for none. */
  after_at: number | null;
  after_id: Buffer | null;
  /** Requests that ended later are not exported; null until the export starts. */
  until_at: number | null;
  records: number;
  bytes: number;
  /** Number of parts written; part numbers start at 0. */
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

const table = rows('log_exports', {
  marks: { replaceOne: exportMarks.replaceOne },
  isVersioned: true,
});
const parts = rows('log_export_parts');

export const { insert } = table;
export const { update } = table.keyedBy('organisation_id', 'id');

const visible = (organisationId: string) => ({
  organisation_id: organisationId,
  status: not('archived' as const),
});

/** Returns undefined for an archived export. */
export function find(
  db: Db,
  organisationId: string,
  id: string,
): Promise<StoredLogExport | undefined> {
  return table.find(db, { ...visible(organisationId), id });
}

/** As {@link find}; locks the row until the transaction ends. */
export function findForUpdate(
  tx: Db,
  organisationId: string,
  id: string,
): Promise<StoredLogExport | undefined> {
  return table.findForUpdate(tx, { ...visible(organisationId), id });
}

interface LogExportFilter {
  readonly workspaceId: string | undefined;
  readonly status: ExportStatus | undefined;
  /** Only exports restricted to these API keys; null for any. */
  readonly ofKeys: readonly string[] | null;
}

/** One page, newest first, without archived exports. */
export function list(db: Db, organisationId: string, filter: LogExportFilter, page: Page) {
  const { workspaceId, status, ofKeys } = filter;
  let query = table.matching(db, { ...visible(organisationId), workspace_id: workspaceId });
  if (status !== undefined) query = query.where('status', '=', status);
  if (ofKeys !== null) {
    const keys = sql<string>`JSON_EXTRACT(selection, '$.apiKeyIds')`;
    query = query.where(sql<boolean>`JSON_CONTAINS(${JSON.stringify(ofKeys)}, ${keys})`);
  }
  return listPage({ db, stamp: exportMarks.stampOf('log_exports', organisationId) }, query, page);
}

/** Up to `limit` unfinished exports of any organisation. */
export function listInProgress(
  db: Db,
  limit: number,
): Promise<Pick<StoredLogExport, 'organisation_id' | 'id'>[]> {
  return table.listAnywhere(
    db,
    { status: 'in_progress' },
    { columns: ['organisation_id', 'id'], orderBy: ['organisation_id', 'id'], limit },
  );
}

export const { insert: insertPart } = parts;
export const deleteParts = parts.deleteBy('organisation_id', 'export_id');

/** Blob ids of the parts in their order. */
export async function listParts(db: Db, organisationId: string, id: string): Promise<string[]> {
  const where = { organisation_id: organisationId, export_id: id };
  const found = await parts.list(db, where, { columns: ['blob_id'], orderBy: ['number'] });
  return found.map(({ blob_id }) => blob_id);
}
