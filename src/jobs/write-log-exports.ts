/** Knows how exports of the log are written: a piece at a time, each with the mark up to where it goes, so that a run that dies is gone on with. */
import { hasMetadata, lineOf } from '../model/logs/exported-log.ts';
import { newId } from '../model/wire/ids.ts';
import type { ExportField, ExportFilters, ExportSelection } from '../model/logs/log-export.ts';
import type { KeptBlobs } from '../store/kept-blobs.ts';
import * as exportedLogs from '../store/logs/exported-logs.ts';
import * as logExports from '../store/logs/log-exports.ts';
import type { RequestLogRow } from '../store/logs/request-logs.ts';
import { countsOf, type Undone } from './runner/due-work.ts';
import { type Job, type JobContext, RunLost } from './runner/job.ts';

const exportsMax = 100;
/** Of rows that are looked at; a piece has as many lines at most. */
const rowsMax = 2_000;
/** Other jobs of the process wait meanwhile; what is left is the next run's. */
const piecesMax = 200;
/** What cannot be written for so long is given up. */
const patienceMs = 86_400_000;

export interface ExportOptions {
  readonly blobs: Pick<KeptBlobs, 'write' | 'keep'>;
}

export function writeLogExports({ blobs }: ExportOptions): Job {
  return {
    name: 'write-log-exports',
    cron: '* * * * *',
    summary: 'Writes the exports of the log of requests that were started',
    feature: 'dataExports',
    idleBecause: null,
    run: async (context) => {
      const counts = { finished: 0, pieces: 0 };
      const undone: Undone[] = [];
      const open = [...(await logExports.listInProgress(context.db, exportsMax))];
      // One after the other has a turn, so that a long one holds up no other.
      while (open.length > 0 && counts.pieces < piecesMax && !context.signal.aborted) {
        const place = open.shift()!;
        try {
          const isMore = await writePiece(context, blobs, place);
          counts.pieces += 1;
          if (isMore) open.push(place);
          else counts.finished += 1;
        } catch (error) {
          if (error instanceof RunLost) throw error;
          await giveUp(context, place);
          undone.push({ name: `the export ${place.id}`, error });
        }
      }
      return countsOf(counts, undone);
    },
  };
}

type Place = Pick<logExports.StoredLogExport, 'organisation_id' | 'id'>;

/** Whether more is to be written. */
async function writePiece(
  { db, transaction, now }: JobContext,
  blobs: ExportOptions['blobs'],
  place: Place,
): Promise<boolean> {
  const { organisation_id: organisationId, id } = place;
  const row = await logExports.find(db, organisationId, id);
  if (row?.status !== 'in_progress') return false;
  const { found, lines } = await readLines(db, row);
  const isLast = found.length < rowsMax;
  const bytes = Buffer.from(lines.join(''));
  const key = { organisationId, id: newId() };
  const written = lines.length === 0 ? null : await blobs.write(key, pieceOf(bytes));
  return transaction(async (tx) => {
    const held = await logExports.findForUpdate(tx, organisationId, id);
    // It was stopped meanwhile, or another has written this piece: these bytes are nobody's.
    if (held?.status !== 'in_progress' || held.version !== row.version) return false;
    if (written !== null) {
      await blobs.keep(tx, written);
      const part = { export_id: id, number: held.parts, blob_id: key.id };
      await logExports.insertPart(tx, { organisation_id: organisationId, ...part });
    }
    const last = found.at(-1);
    await logExports.update(tx, place, {
      ...(last && { after_at: last.ended_at, after_id: last.id }),
      records: held.records + lines.length,
      bytes: held.bytes + bytes.length,
      parts: held.parts + Number(written !== null),
      ...(isLast && { status: 'success', finished_at: now, last_updated_at: now }),
    });
    return !isLast;
  });
}

async function* pieceOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

/** What was looked at, and what is told of it. */
async function readLines(
  db: JobContext['db'],
  row: logExports.StoredLogExport,
): Promise<{ readonly found: readonly RequestLogRow[]; readonly lines: readonly string[] }> {
  const filters = JSON.parse(row.filters) as ExportFilters;
  const selection = JSON.parse(row.selection) as ExportSelection;
  const fields = JSON.parse(row.requested_data) as ExportField[];
  const { after_at, after_id, until_at } = row;
  const range = {
    from: Date.parse(filters.time_of_generation_min),
    to: Math.min(Date.parse(filters.time_of_generation_max), until_at!),
    after: after_at === null ? null : { ended_at: after_at, id: after_id! },
  };
  const wanted = { filters, selection };
  const found = await exportedLogs.list(db, row.organisation_id, wanted, range, rowsMax);
  const told = found.filter((one) => hasMetadata(one, filters.metadata));
  return { found, lines: told.map((one) => lineOf(one, fields)) };
}

/** It stays as it is, and is tried again, unless that was to no end for a day. */
async function giveUp({ transaction, now }: JobContext, place: Place): Promise<void> {
  await transaction(async (tx) => {
    const held = await logExports.findForUpdate(tx, place.organisation_id, place.id);
    if (held?.status !== 'in_progress' || now - held.started_at! < patienceMs) return;
    const ended = { status: 'failed', finished_at: now, last_updated_at: now } as const;
    await logExports.update(tx, place, ended);
  });
}
