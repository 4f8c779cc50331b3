/** Writes request logs in batches in the background, within memory bounds; counts every loss. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../store/connection/db.ts';
import { isUnavailable } from '../../store/connection/unavailable.ts';
import { type LogBatch, writeBatch } from '../../store/logs/logged-requests.ts';
import type { WrittenRow } from '../../store/logs/request-logs.ts';
import { RequestLogQueue, type RequestLogQueueBounds } from './request-log-queue.ts';
import type { LoggedRecord } from './request-log-row.ts';
import type { RequestRecord } from './request-record.ts';

export interface RequestLogOptions {
  readonly database: Pick<Database, 'transaction'>;
  /** Reports rows that the database rejected or that were given up. */
  readonly onLoss: (error: unknown, requests: number) => void;
  readonly bounds?: Partial<RequestLogBounds>;
}

export interface RequestLogBounds extends RequestLogQueueBounds {
  /** Longest wait of an entry while the database keeps up. */
  readonly flushEveryMs: number;
  /** Interval of retries while the database is unreachable. */
  readonly retryMs: number;
}

export interface RequestLogFigures {
  readonly written: number;
  /** Requests without a row. */
  readonly lost: number;
  readonly waiting: number;
}

const usualBounds: RequestLogBounds = {
  waitingMax: 20_000,
  waitingCharsMax: 32 * 1024 * 1024,
  flushEveryMs: 1_000,
  retryMs: 1_000,
};
/** Concurrent transactions, each for one organisation. */
const writersMax = 4;

export class RequestLog {
  readonly #database: RequestLogOptions['database'];
  readonly #onLoss: RequestLogOptions['onLoss'];
  readonly #bounds: RequestLogBounds;
  readonly #queue: RequestLogQueue;
  #written = 0;
  /** Rows that were given up at the end. */
  #givenUp = 0;
  #timer: NodeJS.Timeout | null = null;
  /** Whether incomplete batches are written too. */
  #isDue = false;
  #writing: Promise<void> | null = null;
  readonly #abort = new AbortController();

  constructor({ database, onLoss, bounds = {} }: RequestLogOptions) {
    this.#database = database;
    this.#onLoss = onLoss;
    this.#bounds = { ...usualBounds, ...bounds };
    this.#queue = new RequestLogQueue(this.#bounds);
  }

  /** Ignores unauthenticated requests, which belong to no organisation. */
  record(entry: RequestRecord): void {
    if (!hasOrganisation(entry)) return;
    const isFull = this.#queue.add(entry);
    if (isFull) this.#write();
    else this.#setTimer();
  }

  figures(): RequestLogFigures {
    const { lost, count } = this.#queue;
    return { written: this.#written, lost: lost + this.#givenUp, waiting: count };
  }

  /** Writes what is queued within the given time; the rest is lost, counted and reported. */
  async close(withinMs: number): Promise<void> {
    const clock = setTimeout(() => this.#abort.abort(), withinMs);
    const givenUp = once(this.#abort.signal, 'abort');
    while (this.#writing !== null || !this.#queue.isEmpty) {
      if (this.#abort.signal.aborted) break;
      this.#isDue = true;
      this.#write();
      await Promise.race([this.#writing, givenUp]);
    }
    clearTimeout(clock);
    this.#abort.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#givenUp = this.#queue.count;
    if (this.#givenUp > 0) this.#onLoss(null, this.#givenUp);
  }

  #setTimer(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#isDue = true;
      this.#write();
    }, this.#bounds.flushEveryMs).unref();
  }

  /** Starts writing unless it is already running. */
  #write(): void {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = null;
      if (!this.#queue.isEmpty && !this.#abort.signal.aborted) this.#setTimer();
    });
  }

  /**
   * Writes until nothing is due and no batch is full. Entries that arrive meanwhile wait for the next flush,
   * because small batches would cost one transaction each.
   */
  async #writeAll(): Promise<void> {
    while (!this.#abort.signal.aborted) {
      const taken = this.#queue.take(this.#isDue);
      this.#isDue = false;
      if (taken.length === 0) return;
      const left = taken.values();
      await Promise.all(
        Array.from({ length: writersMax }, async () => {
          for (const batches of left) {
            for (const batch of batches) await this.#writeOne(batch);
          }
        }),
      );
    }
  }

  async #writeOne(batch: LogBatch): Promise<void> {
    const refused = await this.#commit(batch);
    if (refused === null) return;
    this.#queue.release(batch.rows);
    this.#written += batch.rows.length - refused.length;
    for (const { row } of refused) this.#queue.lose(row.organisation_id, row.ended_at);
  }

  /** Returns the rejected rows; null when writing is given up. */
  async #commit(batch: LogBatch, mayBeThere = false): Promise<readonly WrittenRow[] | null> {
    const { retryMs } = this.#bounds;
    const { signal } = this.#abort;
    for (let isRepeated = mayBeThere; !signal.aborted; isRepeated = true) {
      try {
        await this.#database.transaction((tx) => writeBatch(tx, batch, isRepeated));
        return [];
      } catch (error) {
        if (!isUnavailable(error)) return await this.#split(batch, error);
        await delay(retryMs, undefined, { signal }).catch(() => undefined);
      }
    }
    return null;
  }

  /** Splits a failing batch, so that an invalid row does not affect others. */
  async #split({ rows }: LogBatch, error: unknown): Promise<readonly WrittenRow[] | null> {
    if (rows.length <= 1) {
      this.#onLoss(error, rows.length);
      return rows;
    }
    const half = rows.length >> 1;
    const before = await this.#commit({ rows: rows.slice(0, half), losses: [] }, true);
    const behind = await this.#commit({ rows: rows.slice(half), losses: [] }, true);
    return before === null || behind === null ? null : [...before, ...behind];
  }
}

function hasOrganisation(entry: RequestRecord): entry is LoggedRecord {
  return entry.organisationId !== null;
}
