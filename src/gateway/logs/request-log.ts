/** Knows how requests come into the log: off their way, many at once, within bounds, and none lost without being counted. */
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
  /** A row that the database does not take, or rows that are given up. */
  readonly onLoss: (error: unknown, requests: number) => void;
  readonly bounds?: Partial<RequestLogBounds>;
}

export interface RequestLogBounds extends RequestLogQueueBounds {
  /** Longest that one waits while the database keeps up. */
  readonly flushEveryMs: number;
  /** Between two tries while the database is away. */
  readonly retryMs: number;
}

export interface RequestLogFigures {
  readonly written: number;
  /** Of which no row was kept. */
  readonly lost: number;
  readonly waiting: number;
}

const usualBounds: RequestLogBounds = {
  ...{ waitingMax: 20_000, waitingCharsMax: 32 * 1024 * 1024 },
  ...{ flushEveryMs: 1_000, retryMs: 1_000 },
};
/** Transactions at once; each is about one organisation. */
const writersMax = 4;

/** {@link record} takes what happened; {@link close} writes what waits. */
export class RequestLog {
  readonly #database: RequestLogOptions['database'];
  readonly #onLoss: RequestLogOptions['onLoss'];
  readonly #bounds: RequestLogBounds;
  readonly #queue: RequestLogQueue;
  #written = 0;
  /** Of rows that were given up at the end. */
  #givenUp = 0;
  #timer: NodeJS.Timeout | null = null;
  /** What waits is to be written, however little it is. */
  #isDue = false;
  #writing: Promise<void> | null = null;
  readonly #givesUp = new AbortController();

  constructor({ database, onLoss, bounds = {} }: RequestLogOptions) {
    this.#database = database;
    this.#onLoss = onLoss;
    this.#bounds = { ...usualBounds, ...bounds };
    this.#queue = new RequestLogQueue(this.#bounds);
  }

  /** A request of nobody that is known belongs to no log. */
  record(entry: RequestRecord): void {
    if (!isOfSomebody(entry)) return;
    const isFull = this.#queue.add(entry);
    if (isFull) this.#write();
    else this.#setTimer();
  }

  figures(): RequestLogFigures {
    const { lost, count } = this.#queue;
    return { written: this.#written, lost: lost + this.#givenUp, waiting: count };
  }

  /** Writes what waits, for as long as it may take; what is left then is lost, counted and told. */
  async close(withinMs: number): Promise<void> {
    const clock = setTimeout(() => this.#givesUp.abort(), withinMs);
    const givenUp = once(this.#givesUp.signal, 'abort');
    while (this.#writing !== null || !this.#queue.isEmpty) {
      if (this.#givesUp.signal.aborted) break;
      this.#isDue = true;
      this.#write();
      await Promise.race([this.#writing, givenUp]);
    }
    clearTimeout(clock);
    this.#givesUp.abort();
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

  /** Begins, unless it is being done. */
  #write(): void {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = null;
      if (!this.#queue.isEmpty && !this.#givesUp.signal.aborted) this.#setTimer();
    });
  }

  /**
   * Until nothing is due and no batch is full. What came meanwhile waits for its time: written at once,
   * it would be a few rows, and after them fewer still, each with the cost of a transaction.
   */
  async #writeAll(): Promise<void> {
    while (!this.#givesUp.signal.aborted) {
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

  /** The rows that the database does not take; null where it is given up on. */
  async #commit(batch: LogBatch, mayBeThere = false): Promise<readonly WrittenRow[] | null> {
    const { retryMs } = this.#bounds;
    const { signal } = this.#givesUp;
    for (let isRepeated = mayBeThere; !signal.aborted; isRepeated = true) {
      try {
        await this.#database.transaction((tx) => writeBatch(tx, batch, isRepeated));
        return [];
      } catch (error) {
        if (!isUnavailable(error)) return await this.#takeApart(batch, error);
        await delay(retryMs, undefined, { signal }).catch(() => undefined);
      }
    }
    return null;
  }

  /** So that a row which fails takes no other along. */
  async #takeApart({ rows }: LogBatch, error: unknown): Promise<readonly WrittenRow[] | null> {
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

function isOfSomebody(entry: RequestRecord): entry is LoggedRecord {
  return entry.organisationId !== null;
}
