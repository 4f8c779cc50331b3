/** Converts log exports to API records. */
import { z } from 'zod';
import { ExportFields, exportStatuses, formatFilters } from '../../../model/logs/log-export.ts';
import type { StoredLogExport } from '../../../store/logs/log-exports.ts';
import { computed, constant, nullableTimestamp, record, timestamp } from '../../request/record.ts';

const count = z.int().min(0);
const VisibleStatus = z.enum(exportStatuses).exclude(['archived']);

const itemFields = {
  id: z.uuid(),
  organisation_id: z.uuid(),
  workspace_id: computed(
    z.string().meta({ description: 'Empty for the whole organisation' }),
    (row: StoredLogExport) => row.workspace_id ?? '',
  ),
  status: computed(
    VisibleStatus,
    (row: StoredLogExport) => row.status as z.infer<typeof VisibleStatus>,
  ),
  description: z.string(),
  filters: computed(z.record(z.string(), z.unknown()), (row: StoredLogExport) =>
    formatFilters(JSON.parse(row.filters)),
  ),
  requested_data: computed(ExportFields, (row: StoredLogExport) => JSON.parse(row.requested_data)),
  created_at: timestamp,
  last_updated_at: timestamp,
  created_by: z.string(),
  object: constant('export'),
};

const item = record<StoredLogExport>()(itemFields);

/** Items of the list. */
export const LogExportItem = item.schema;
export const logExportToItem = item.toRecord;

const whole = record<StoredLogExport>()({
  ...itemFields,
  /** Lines and bytes written so far. */
  exported_records: computed(count, (row: StoredLogExport) => row.records),
  exported_bytes: computed(count, (row: StoredLogExport) => row.bytes),
  started_at: nullableTimestamp,
  finished_at: nullableTimestamp,
});

/** Response of get. */
export const LogExportRecord = whole.schema;
export const logExportToRecord = whole.toRecord;
