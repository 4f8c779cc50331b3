/** Takes finished requests: puts their rows on disk and, as far as there is room, into the queue in memory. */
import { reportUnexpected } from '../../detached.ts';
import type { SegmentPlace, SpoolStream, StreamTerms } from '../../spool/spool-stream.ts';
import type { WrittenRow } from '../../store/logs/request-logs.ts';
import type { QueuedBatch, RequestLogQueue } from './request-log-queue.ts';
import { type LoggedRecord, rowOf } from './request-log-row.ts';
import { LossTally, loadRows, rowsIn, spoolLosses, spoolRow } from './spooled-rows.ts';

export interface RequestLogIntakeOptions {
  readonly queue: RequestLogQueue;
  /** Registers the stream of rows on disk; null when rows wait in memory only. */
  readonly openStream: ((terms: StreamTerms) => SpoolStream) | null;
  /** Called when there is something to write: at once if a batch is full. */
  readonly onRows: (isFull: boolean) => void;
}

/** Entries are converted to rows in groups, which is faster than one by one. */
const freshMax = 32;

export class RequestLogIntake {
  readonly #queue: RequestLogQueue;
  readonly #onRows: RequestLogIntakeOptions['onRows'];
  readonly #stream: SpoolStream | null;
  /** Entries that are not rows yet. */
  readonly #fresh: LoggedRecord[] = [];
  #turn: NodeJS.Immediate | null = null;
  /** Whether new rows go to the disk only, until those on disk are loaded. */
  #isOverflowing = false;

  constructor({ queue, openStream, onRows }: RequestLogIntakeOptions) {
    this.#queue = queue;
    this.#onRows = onRows;
    this.#stream = openStream?.(this.#streamTerms()) ?? null;
  }

  /** Entries that are not in the queue yet. */
  get count(): number {
    return this.#fresh.length;
  }

  /** Whether rows are on disk that could be loaded into the queue now. */
  get canLoad(): boolean {
    return this.#stream?.hasUnheld === true && this.#queue.memory.isHalfEmpty;
  }

  /** With a spool, the row is on its way to the disk at the end of the turn. */
  add(entry: LoggedRecord): void {
    this.#fresh.push(entry);
    if (this.#fresh.length === freshMax) {
      this.makeRows();
      return;
    }
    if (this.#stream === null) this.#onRows(false);
    else this.#turn ??= setImmediate(() => this.makeRows());
  }

  makeRows(): void {
    if (this.#turn !== null) clearImmediate(this.#turn);
    this.#turn = null;
    let isFull = false;
    for (const entry of this.#fresh.splice(0)) isFull = this.#addRow(entry) || isFull;
    this.#onRows(isFull);
  }

  /** True when a batch of an organisation is full. */
  #addRow(entry: LoggedRecord): boolean {
    const stream = this.#stream;
    const queue = this.#queue;
    if (stream === null && !queue.memory.hasRoom(0)) {
      queue.lose(entry.organisationId, Math.round(entry.startedAt + entry.durationMs));
      return false;
    }
    const row = rowOf(entry);
    const fits = !this.#isOverflowing && queue.memory.hasRoom(row.tuple.length);
    const place = stream === null ? null : spoolRow(stream, row, fits);
    if (fits) return queue.add({ ...row, place, isReplayed: false });
    if (place === null) queue.lose(row.row.organisation_id, row.row.ended_at);
    else this.#isOverflowing = true;
    return false;
  }

  /** Loads rows from the disk while there is room in memory. */
  async load(): Promise<void> {
    const stream = this.#stream;
    if (stream === null) return;
    while (this.canLoad) {
      const loaded = await loadRows(stream).catch((error: unknown) => {
        reportUnexpected(error, 'reading log rows from the spool');
        return null;
      });
      if (loaded === null) break;
      const { place, rows, losses, unreadable } = loaded;
      for (const row of rows) this.#queue.add({ ...row, place, isReplayed: true });
      for (const counts of losses) this.#queue.addLosses(counts, place);
      stream.release(place, unreadable);
    }
    this.#isOverflowing = stream.hasUnheld;
  }

  /** Frees the memory of a batch, and its place on the disk. */
  release(batch: QueuedBatch): void {
    this.#queue.release(batch);
    const places = new Map<SegmentPlace, number>();
    for (const { place } of batch.rows) {
      if (place !== null) places.set(place, (places.get(place) ?? 0) + 1);
    }
    if (batch.lossPlace !== null) places.set(batch.lossPlace, 1);
    for (const [place, count] of places) this.#stream?.release(place, count);
  }

  /** Leaves what is only in memory to the next process, and returns how many rows cannot be left. */
  async close(): Promise<number> {
    this.makeRows();
    const { rows, losses } = this.#queue.takeUnspooled();
    const stream = this.#stream;
    if (stream === null) return rows.length;
    // The disk may take what it has refused before.
    const refused = rows.filter((row) => spoolRow(stream, row, false) === null);
    for (const counts of losses) spoolLosses(stream, counts);
    await stream.settle();
    return refused.length;
  }

  #streamTerms(): StreamTerms {
    const queue = this.#queue;
    return {
      name: 'request-logs',
      onReadable: () => this.#onRows(false),
      dropping: {
        mayDrop: (place) => !queue.isBeingWritten(place),
        summarise: (records, held) => summarise(queue, records, held),
        onFailure: (records) => {
          for (const { row } of rowsIn(records)) queue.lose(row.organisation_id, row.ended_at);
        },
      },
    };
  }
}

/** Counts rows by organisation and hour in place of the dropped ones. */
function summarise(
  queue: RequestLogQueue,
  records: readonly Buffer[],
  held: SegmentPlace | null,
): readonly Buffer[] {
  const tally = new LossTally();
  tally.addRecords(records);
  const forgotten: readonly WrittenRow[] = held === null ? [] : queue.takeRowsOf(held);
  for (const row of forgotten) tally.addRow(row);
  queue.noteLost(tally.rows);
  return tally.encode();
}
