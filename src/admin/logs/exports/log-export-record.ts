/** Converts log exports to API records. */
import { z } from 'zod';
import { ExportFields, exportStatuses, formatFilters } from '../../../model/logs/log-export.ts';
import {
  formatTimestamp,
  formatTimestampOrNull,
  ResponseTimestamp,
} from '../../../model/wire/timestamp.ts';
import type { StoredLogExport } from '../../../store/logs/log-exports.ts';

const count = z.int().min(0);

/** Items of the list. */
export const LogExportItem = z.object({
  id: z.uuid(),
  organisation_id: z.uuid(),
  workspace_id: z.string().meta({ description: 'Empty for the whole organisation' }),
  status: z.enum(exportStatuses).exclude(['archived']),
  description: z.string(),
  filters: z.record(z.string(), z.unknown()),
  requested_data: ExportFields,
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
  created_by: z.string(),
  object: z.literal('export'),
});

/** Response of get. */
export const LogExportRecord = LogExportItem.extend({
  /** Lines and bytes written so far. */
  exported_records: count,
  exported_bytes: count,
  started_at: ResponseTimestamp.nullable(),
  finished_at: ResponseTimestamp.nullable(),
});

export function logExportToItem(row: StoredLogExport): z.infer<typeof LogExportItem> {
  return {
    id: row.id,
    organisation_id: row.organisation_id,
    workspace_id: row.workspace_id ?? '',
    status: row.status as z.infer<typeof LogExportItem>['status'],
    description: row.description,
    filters: formatFilters(JSON.parse(row.filters)),
    requested_data: JSON.parse(row.requested_data),
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
    created_by: row.created_by,
    object: 'export',
  };
}

export function logExportToRecord(row: StoredLogExport): z.infer<typeof LogExportRecord> {
  return {
    ...logExportToItem(row),
    exported_records: row.records,
    exported_bytes: row.bytes,
    started_at: formatTimestampOrNull(row.started_at),
    finished_at: formatTimestampOrNull(row.finished_at),
  };
}
