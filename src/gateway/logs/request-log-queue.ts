/** Queues log entries per organisation within memory bounds, and counts those that do not fit. */
import { startOfTotalsStep } from '../../model/logs/request-log.ts';
import { type LogBatch, lossOf } from '../../store/logs/logged-requests.ts';
import type { WrittenRow } from '../../store/logs/request-logs.ts';
import { type LoggedRecord, rowOf } from './request-log-row.ts';

export interface RequestLogQueueBounds {
  /** Bound of queued requests. */
  readonly waitingMax: number;
  /** Bound of the characters of their rows. */
  readonly waitingCharsMax: number;
}

/** Queued rows of one organisation. */
interface WaitingRows {
  rows: WrittenRow[];
  chars: number;
}

/** Entries are converted to rows in groups, which is faster than one by one. */
const freshMax = 32;
const batchRowsMax = 500;
const batchCharsMax = 1024 * 1024;

/** Rows count towards the bounds until they are {@link release}d. */
export class RequestLogQueue {
  readonly #bounds: RequestLogQueueBounds;
  /** Entries that are not rows yet. */
  readonly #fresh: LoggedRecord[] = [];
  readonly #waiting = new Map<string, WaitingRows>();
  /** Rows that are queued or being written. */
  #count = 0;
  #chars = 0;
  #lost = 0;
  /** Unwritten loss counts by organisation and hour. */
  readonly #losses = new Map<string, Map<number, number>>();

  constructor(bounds: RequestLogQueueBounds) {
    this.#bounds = bounds;
  }

  get count(): number {
    return this.#count + this.#fresh.length;
  }

  get lost(): number {
    return this.#lost;
  }

  /** Whether there is nothing to write. */
  get isEmpty(): boolean {
    return this.#fresh.length === 0 && this.#waiting.size === 0 && this.#losses.size === 0;
  }

  /** True when a batch of an organisation is full. */
  add(entry: LoggedRecord): boolean {
    this.#fresh.push(entry);
    return this.#fresh.length === freshMax && this.#makeRows();
  }

  #makeRows(): boolean {
    let hasFull = false;
    for (const entry of this.#fresh) hasFull = this.#addRow(entry) || hasFull;
    this.#fresh.length = 0;
    return hasFull;
  }

  #addRow(entry: LoggedRecord): boolean {
    const { organisationId } = entry;
    const { waitingMax, waitingCharsMax } = this.#bounds;
    const row = this.#count < waitingMax ? rowOf(entry) : null;
    if (row === null || this.#chars + row.tuple.length > waitingCharsMax) {
      this.lose(organisationId, Math.round(entry.startedAt + entry.durationMs));
      return false;
    }
    let waiting = this.#waiting.get(organisationId);
    if (waiting === undefined) {
      waiting = { rows: [], chars: 0 };
      this.#waiting.set(organisationId, waiting);
    }
    waiting.rows.push(row);
    waiting.chars += row.tuple.length;
    this.#count += 1;
    this.#chars += row.tuple.length;
    return isFull(waiting);
  }

  lose(organisationId: string, endedAt: number): void {
    this.#lost += 1;
    const hour = startOfTotalsStep(endedAt);
    const hours = this.#losses.get(organisationId) ?? new Map<number, number>();
    this.#losses.set(organisationId, hours.set(hour, (hours.get(hour) ?? 0) + 1));
  }

  /** Takes the full batches of each organisation; with `isAll`, everything queued and all losses. */
  take(isAll: boolean): LogBatch[][] {
    if (isAll) this.#makeRows();
    const taken: LogBatch[][] = [];
    for (const [organisationId, waiting] of this.#waiting) {
      const batches: LogBatch[] = [];
      while (isFull(waiting) || (isAll && waiting.rows.length > 0)) {
        batches.push({ rows: cut(waiting), losses: [] });
      }
      if (batches.length > 0) taken.push(batches);
      if (waiting.rows.length === 0) this.#waiting.delete(organisationId);
    }
    return isAll ? [...taken, ...this.#takeLosses()] : taken;
  }

  /** Frees the memory budget of rows that are written or lost. */
  release(rows: readonly WrittenRow[]): void {
    this.#count -= rows.length;
    for (const { tuple } of rows) this.#chars -= tuple.length;
  }

  #takeLosses(): LogBatch[][] {
    const taken = [...this.#losses].map(([organisationId, hours]) => {
      const losses = [...hours].map(([hour, requests]) => lossOf(organisationId, hour, requests));
      return [{ rows: [], losses }];
    });
    this.#losses.clear();
    return taken;
  }
}

function isFull({ rows, chars }: WaitingRows): boolean {
  return rows.length >= batchRowsMax || chars >= batchCharsMax;
}

/** Removes the oldest rows, as many as one statement may contain. */
function cut(waiting: WaitingRows): WrittenRow[] {
  let chars = 0;
  let count = 0;
  for (const { tuple } of waiting.rows) {
    if (count === batchRowsMax || chars >= batchCharsMax) break;
    count += 1;
    chars += tuple.length;
  }
  waiting.chars -= chars;
  return waiting.rows.splice(0, count);
}
