/** Queues log rows per organisation within memory bounds, and counts those that do not fit. */
import type { SegmentPlace } from '../../spool/spool-stream.ts';
import type { WrittenRow } from '../../store/logs/request-logs.ts';
import type { LogContents } from './log-sink.ts';
import { LossCounts, type LostRequests } from './lost-requests.ts';

export interface RequestLogQueueBounds {
  /** Bound of queued requests. */
  readonly waitingMax: number;
  /** Bound of the characters of their rows. */
  readonly waitingCharsMax: number;
}

/** A row and where it is on disk. */
export interface QueuedRow extends WrittenRow {
  /** Null for a row that is only in memory. */
  readonly place: SegmentPlace | null;
  /** Whether an earlier process may have written it. */
  readonly isReplayed: boolean;
}

export interface QueuedBatch extends LogContents {
  readonly organisationId: string;
  readonly rows: readonly QueuedRow[];
  /** Where the counts are on disk; null for counts of this process. */
  readonly lossPlace: SegmentPlace | null;
}

/** Queued rows of one organisation. */
interface WaitingRows {
  rows: QueuedRow[];
  chars: number;
  /** Rows at the front that are written even if they fill no batch. */
  due: number;
  /** Whether it is in the list of ready organisations, or a batch of it is being written. */
  isTaken: boolean;
}

const batchRowsMax = 500;
const batchCharsMax = 1024 * 1024;

/** Rows count towards the bounds until they are {@link release}d. */
export class RequestLogQueue {
  readonly #waiting = new Map<string, WaitingRows>();
  /** Organisations with a batch to write that no writer has taken. */
  #ready: string[] = [];
  #lossBatches: QueuedBatch[] = [];
  readonly #inFlight = new Set<QueuedBatch>();
  #lost = 0;
  readonly #losses = new LossCounts();
  /** Rows that are queued or being written. */
  readonly memory: RowMemory;

  constructor(bounds: RequestLogQueueBounds) {
    this.memory = new RowMemory(bounds);
  }

  get lost(): number {
    return this.#lost;
  }

  /** Whether there is nothing to write. */
  get isEmpty(): boolean {
    const { size } = this.#waiting;
    return size === 0 && this.#losses.isEmpty && this.#lossBatches.length === 0;
  }

  /** True when a batch of an organisation is full. */
  add(row: QueuedRow): boolean {
    const { organisation_id: organisationId } = row.row;
    let waiting = this.#waiting.get(organisationId);
    if (waiting === undefined) {
      waiting = { rows: [], chars: 0, due: 0, isTaken: false };
      this.#waiting.set(organisationId, waiting);
    }
    waiting.rows.push(row);
    waiting.chars += row.tuple.length;
    this.memory.add(row);
    if (!isFull(waiting)) return false;
    this.#makeReady(organisationId, waiting);
    return true;
  }

  /** Counts a request without a row, to be written to the totals. */
  lose(organisationId: string, endedAt: number): void {
    this.#lost += 1;
    this.#losses.add(organisationId, endedAt);
  }

  /** Counts requests whose losses are written elsewhere. */
  noteLost(requests: number): void {
    this.#lost += requests;
  }

  /** Adds counts of lost requests, of one organisation. */
  addLosses(lost: readonly LostRequests[], lossPlace: SegmentPlace | null): void {
    const [first] = lost;
    if (first === undefined) return;
    const { organisationId } = first;
    this.#lossBatches.push({ organisationId, rows: [], lost, lossPlace });
  }

  /** Makes everything that is queued ready to be written, also in incomplete batches. */
  markDue(): void {
    for (const [organisationId, waiting] of this.#waiting) {
      waiting.due = waiting.rows.length;
      this.#makeReady(organisationId, waiting);
    }
    for (const losses of this.#losses.take()) this.addLosses(losses, null);
  }

  #makeReady(organisationId: string, waiting: WaitingRows): void {
    if (waiting.isTaken || waiting.rows.length === 0) return;
    waiting.isTaken = true;
    this.#ready.push(organisationId);
  }

  /** Takes a batch of an organisation of which no other batch is being written; null for none. */
  take(): QueuedBatch | null {
    const batch = this.#takeRows() ?? this.#lossBatches.shift() ?? null;
    if (batch !== null) this.#inFlight.add(batch);
    return batch;
  }

  #takeRows(): QueuedBatch | null {
    for (;;) {
      const organisationId = this.#ready.shift();
      if (organisationId === undefined) return null;
      const waiting = this.#waiting.get(organisationId)!;
      const rows = cut(waiting);
      if (rows.length > 0) return { organisationId, rows, lost: [], lossPlace: null };
      this.#waiting.delete(organisationId);
    }
  }

  /** Frees the memory of a batch that was written or given up. */
  release(batch: QueuedBatch): void {
    this.#inFlight.delete(batch);
    this.memory.remove(batch.rows);
    const waiting = this.#waiting.get(batch.organisationId);
    if (waiting === undefined || batch.rows.length === 0) return;
    waiting.isTaken = false;
    if (isFull(waiting) || waiting.due > 0) this.#makeReady(batch.organisationId, waiting);
    else if (waiting.rows.length === 0) this.#waiting.delete(batch.organisationId);
  }

  isBeingWritten(place: SegmentPlace): boolean {
    const isThere = (row: QueuedRow): boolean => row.place === place;
    return [...this.#inFlight].some(
      ({ rows, lossPlace }) => lossPlace === place || rows.some(isThere),
    );
  }

  /** Removes the rows of a segment that is dropped, and returns them. */
  takeRowsOf(place: SegmentPlace): QueuedRow[] {
    const taken: QueuedRow[] = [];
    for (const [organisationId, waiting] of this.#waiting) {
      taken.push(...waiting.rows.filter((row) => row.place === place));
      waiting.rows = waiting.rows.filter((row) => row.place !== place);
      waiting.chars = waiting.rows.reduce((sum, { tuple }) => sum + tuple.length, 0);
      waiting.due = Math.min(waiting.due, waiting.rows.length);
      if (waiting.rows.length === 0 && !waiting.isTaken) this.#waiting.delete(organisationId);
    }
    this.memory.remove(taken);
    return taken;
  }

  /** Rows and counts that are perhaps only in memory, at the end of the process. */
  takeUnspooled(): {
    readonly rows: readonly QueuedRow[];
    readonly losses: readonly (readonly LostRequests[])[];
  } {
    const waiting = [...this.#waiting.values()].flatMap(({ rows }) => rows);
    const batches = [...this.#inFlight, ...this.#lossBatches];
    const rows = [...waiting, ...batches.flatMap((batch) => batch.rows)];
    const counts = batches.filter(({ lost, lossPlace }) => lost.length > 0 && lossPlace === null);
    return {
      rows: rows.filter(({ place }) => place === null || place.isIncomplete),
      losses: [...counts.map(({ lost }) => lost), ...this.#losses.take()],
    };
  }
}

/** Rows in memory, and their bounds. */
class RowMemory {
  readonly #bounds: RequestLogQueueBounds;
  count = 0;
  #chars = 0;

  constructor(bounds: RequestLogQueueBounds) {
    this.#bounds = bounds;
  }

  /** Whether a row of `chars` characters fits; 0 is an unknown length. */
  hasRoom(chars: number): boolean {
    const { waitingMax, waitingCharsMax } = this.#bounds;
    return this.count < waitingMax && this.#chars + chars <= waitingCharsMax;
  }

  /** Whether the rows of a segment may be loaded. */
  get isHalfEmpty(): boolean {
    const { waitingMax, waitingCharsMax } = this.#bounds;
    return this.count <= waitingMax / 2 && this.#chars <= waitingCharsMax / 2;
  }

  add({ tuple }: QueuedRow): void {
    this.count += 1;
    this.#chars += tuple.length;
  }

  remove(rows: readonly QueuedRow[]): void {
    this.count -= rows.length;
    for (const { tuple } of rows) this.#chars -= tuple.length;
  }
}

function isFull({ rows, chars }: WaitingRows): boolean {
  return rows.length >= batchRowsMax || chars >= batchCharsMax;
}

/** Removes the oldest rows, as many as one statement may contain. */
function cut(waiting: WaitingRows): QueuedRow[] {
  let chars = 0;
  let count = 0;
  for (const { tuple } of waiting.rows) {
    if (count === batchRowsMax || chars >= batchCharsMax) break;
    count += 1;
    chars += tuple.length;
  }
  waiting.chars -= chars;
  waiting.due = Math.max(0, waiting.due - count);
  return waiting.rows.splice(0, count);
}
