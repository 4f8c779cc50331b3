/** Writes request logs in batches in the background, within bounds of memory and disk; counts every loss. */
import { once } from 'node:events';
import type { SpoolStream, StreamTerms } from '../../spool/spool-stream.ts';
import type { Database } from '../../store/connection/db.ts';
import { databaseLogSink, type LogSink } from './log-sink.ts';
import { RequestLogIntake } from './request-log-intake.ts';
import { RequestLogQueue, type RequestLogQueueBounds } from './request-log-queue.ts';
import type { LoggedRecord } from './request-log-row.ts';
import { RequestLogWriter } from './request-log-writer.ts';
import type { RequestRecord } from './request-record.ts';

export interface RequestLogOptions {
  readonly database: Pick<Database, 'transaction'>;
  /** Stores the rows; by default in the database. */
  readonly sink?: LogSink;
  /** Registers the stream of rows on disk; by default rows wait in memory only. */
  readonly openStream?: ((terms: StreamTerms) => SpoolStream) | null;
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
  /** Rows in memory. */
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
  readonly #onLoss: RequestLogOptions['onLoss'];
  readonly #bounds: RequestLogBounds;
  readonly #queue: RequestLogQueue;
  readonly #intake: RequestLogIntake;
  readonly #writer: RequestLogWriter;
  #written = 0;
  /** Rows that were given up at the end. */
  #givenUp = 0;
  #timer: NodeJS.Timeout | null = null;
  /** Whether incomplete batches are written too. */
  #isDue = false;
  #isClosing = false;
  #writing: Promise<void> | null = null;
  readonly #abort = new AbortController();

  constructor(options: RequestLogOptions) {
    const { database, sink = databaseLogSink(database) } = options;
    const { openStream = null, onLoss, bounds = {} } = options;
    this.#onLoss = onLoss;
    this.#bounds = { ...usualBounds, ...bounds };
    const queue = new RequestLogQueue(this.#bounds);
    this.#queue = queue;
    const onRows = (isFull: boolean): void => {
      if (isFull) this.#write();
      else this.#setTimer();
    };
    this.#intake = new RequestLogIntake({ queue, openStream, onRows });
    const { retryMs } = this.#bounds;
    const { signal } = this.#abort;
    this.#writer = new RequestLogWriter({ sink, onLoss, retryMs, signal });
  }

  /** Ignores unauthenticated requests, which belong to no organisation. */
  record(entry: RequestRecord): void {
    if (hasOrganisation(entry)) this.#intake.add(entry);
  }

  figures(): RequestLogFigures {
    const { lost, memory } = this.#queue;
    const waiting = memory.count + this.#intake.count;
    return { written: this.#written, lost: lost + this.#givenUp, waiting };
  }

  /** Writes what is queued within the given time. The rest stays on disk or is lost, counted and reported. */
  async close(withinMs: number): Promise<void> {
    this.#isClosing = true;
    const clock = setTimeout(() => this.#abort.abort(), withinMs);
    const givenUp = once(this.#abort.signal, 'abort');
    this.#intake.makeRows();
    while (this.#writing !== null || !this.#queue.isEmpty) {
      if (this.#abort.signal.aborted) break;
      this.#isDue = true;
      this.#write();
      await Promise.race([this.#writing, givenUp]);
    }
    clearTimeout(clock);
    this.#abort.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
    const { lost } = this.#queue;
    this.#givenUp = await this.#intake.close();
    const missing = this.#givenUp + this.#queue.lost - lost;
    if (missing > 0) this.#onLoss(null, missing);
  }

  #setTimer(): void {
    if (this.#abort.signal.aborted) return;
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
      if (!this.#queue.isEmpty || this.#intake.canLoad) this.#setTimer();
    });
  }

  /**
   * Writes until nothing is due and no batch is full. Entries that arrive meanwhile wait for the next flush,
   * because small batches would cost one transaction each.
   */
  async #writeAll(): Promise<void> {
    do {
      if (!this.#isClosing) await this.#intake.load();
      if (this.#isDue) {
        this.#isDue = false;
        this.#intake.makeRows();
        this.#queue.markDue();
      }
      await Promise.all(Array.from({ length: writersMax }, () => this.#writeReady()));
    } while (!this.#abort.signal.aborted && (this.#isDue || this.#mayLoad));
  }

  get #mayLoad(): boolean {
    return !this.#isClosing && this.#intake.canLoad;
  }

  async #writeReady(): Promise<void> {
    while (!this.#abort.signal.aborted) {
      const batch = this.#queue.take();
      if (batch === null) return;
      const refused = await this.#writer.write(batch);
      if (refused === null) return;
      this.#intake.release(batch);
      this.#written += batch.rows.length - refused.length;
      for (const { row } of refused) this.#queue.lose(row.organisation_id, row.ended_at);
    }
  }
}

function hasOrganisation(entry: RequestRecord): entry is LoggedRecord {
  return entry.organisationId !== null;
}
