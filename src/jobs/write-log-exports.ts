/** Writes log exports in parts; each part records its end, so that a run continues where a dead one stopped. */
import { formatExportLine, matchesMetadata } from '../model/logs/exported-log.ts';
import type { ExportField, ExportFilters, ExportSelection } from '../model/logs/log-export.ts';
import { newId } from '../model/wire/ids.ts';
import * as exportedLogs from '../store/logs/exported-logs.ts';
import * as logExports from '../store/logs/log-exports.ts';
import type { RequestLogRow } from '../store/logs/request-logs.ts';
import type { StoredBlobs } from '../store/stored-blobs.ts';
import { countsOf, type FailedSubject } from './runner/due-work.ts';
import { type Job, type JobContext, RunLost } from './runner/job.ts';

const exportsMax = 100;
/** Rows that are read for one part, and thus its maximum number of lines. */
const rowsMax = 2_000;
/** Other jobs of the process wait for a run; the next run writes the remaining parts. */
const partsMax = 200;
/** An export that cannot be written for this long fails. */
const failAfterMs = 86_400_000;

export interface ExportOptions {
  readonly blobs: Pick<StoredBlobs, 'write' | 'keep'>;
}

export function writeLogExports({ blobs }: ExportOptions): Job {
  return {
    name: 'write-log-exports',
    cron: '* * * * *',
    summary: 'Writes the started exports of the request log',
    feature: 'dataExports',
    idleBecause: null,
    run: async (context) => {
      const counts = { finished: 0, pieces: 0 };
      const failures: FailedSubject[] = [];
      const open = [...(await logExports.listInProgress(context.db, exportsMax))];
      // Exports take turns, so that a long one does not delay the others.
      while (open.length > 0 && counts.pieces < partsMax && !context.signal.aborted) {
        const key = open.shift()!;
        try {
          const isMore = await writePart(context, blobs, key);
          counts.pieces += 1;
          if (isMore) open.push(key);
          else counts.finished += 1;
        } catch (error) {
          if (error instanceof RunLost) throw error;
          await failIfOverdue(context, key);
          failures.push({ name: `the export ${key.id}`, error });
        }
      }
      return countsOf(counts, failures);
    },
  };
}

type ExportKey = Pick<logExports.StoredLogExport, 'organisation_id' | 'id'>;

/** Returns whether parts remain. */
async function writePart(
  { db, transaction, now }: JobContext,
  blobs: ExportOptions['blobs'],
  exportKey: ExportKey,
): Promise<boolean> {
  const { organisation_id: organisationId, id } = exportKey;
  const row = await logExports.find(db, organisationId, id);
  if (row?.status !== 'in_progress') return false;
  const { rows, lines } = await readLines(db, row);
  const isLast = rows.length < rowsMax;
  const bytes = Buffer.from(lines.join(''));
  const key = { organisationId, id: newId() };
  const written = lines.length === 0 ? null : await blobs.write(key, chunksOf(bytes));
  return transaction(async (tx) => {
    const current = await logExports.findForUpdate(tx, organisationId, id);
    // The export was cancelled, or another process has written this part; the sweep deletes these bytes.
    if (current?.status !== 'in_progress' || current.version !== row.version) return false;
    if (written !== null) {
      await blobs.keep(tx, written);
      const part = { export_id: id, number: current.parts, blob_id: key.id };
      await logExports.insertPart(tx, { organisation_id: organisationId, ...part });
    }
    const last = rows.at(-1);
    await logExports.update(tx, exportKey, {
      ...(last && { after_at: last.ended_at, after_id: last.id }),
      records: current.records + lines.length,
      bytes: current.bytes + bytes.length,
      parts: current.parts + Number(written !== null),
      ...(isLast && { status: 'success', finished_at: now, last_updated_at: now }),
    });
    return !isLast;
  });
}

async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

/** Reads the next rows, and formats those that match the metadata filter. */
async function readLines(
  db: JobContext['db'],
  row: logExports.StoredLogExport,
): Promise<{ readonly rows: readonly RequestLogRow[]; readonly lines: readonly string[] }> {
  const filters = JSON.parse(row.filters) as ExportFilters;
  const selection = JSON.parse(row.selection) as ExportSelection;
  const fields = JSON.parse(row.requested_data) as ExportField[];
  const { after_at, after_id, until_at } = row;
  const range = {
    from: Date.parse(filters.time_of_generation_min),
    to: Math.min(Date.parse(filters.time_of_generation_max), until_at!),
    after: after_at === null ? null : { ended_at: after_at, id: after_id! },
  };
  const conditions = { filters, selection };
  const rows = await exportedLogs.list(db, row.organisation_id, conditions, range, rowsMax);
  const matching = rows.filter((candidate) => matchesMetadata(candidate, filters.metadata));
  return { rows, lines: matching.map((match) => formatExportLine(match, fields)) };
}

/** Marks the export as failed after a day of failures; until then the next run tries again. */
async function failIfOverdue({ transaction, now }: JobContext, key: ExportKey): Promise<void> {
  await transaction(async (tx) => {
    const current = await logExports.findForUpdate(tx, key.organisation_id, key.id);
    if (current?.status !== 'in_progress' || now - current.started_at! < failAfterMs) return;
    const ended = { status: 'failed', finished_at: now, last_updated_at: now } as const;
    await logExports.update(tx, key, ended);
  });
}
