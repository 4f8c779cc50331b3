/** Writes batches of log rows in transactions: retries while the database is away, omits rows that it rejects. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../store/connection/db.ts';
import { isUnavailable } from '../../store/connection/unavailable.ts';
import { type LogBatch, writeBatch } from '../../store/logs/logged-requests.ts';
import type { QueuedBatch, QueuedRow } from './request-log-queue.ts';

export interface RequestLogWriterOptions {
  readonly database: Pick<Database, 'transaction'>;
  /** Reports rows that the database rejected. */
  readonly onLoss: (error: unknown, requests: number) => void;
  /** Interval of retries while the database is unreachable. */
  readonly retryMs: number;
  /** Gives writing up. */
  readonly signal: AbortSignal;
}

export class RequestLogWriter {
  readonly #options: RequestLogWriterOptions;

  constructor(options: RequestLogWriterOptions) {
    this.#options = options;
  }

  /** Returns the rejected rows; null when writing is given up. */
  write(batch: QueuedBatch): Promise<readonly QueuedRow[] | null> {
    const { rows } = batch;
    return this.#commit(
      batch,
      rows,
      rows.some(({ isReplayed }) => isReplayed),
    );
  }

  async #commit(
    { losses }: Pick<LogBatch, 'losses'>,
    rows: readonly QueuedRow[],
    mayBeThere: boolean,
  ): Promise<readonly QueuedRow[] | null> {
    const { database, retryMs, signal } = this.#options;
    for (let isRepeated = mayBeThere; !signal.aborted; isRepeated = true) {
      try {
        await database.transaction((tx) => writeBatch(tx, { rows, losses }, isRepeated));
        return [];
      } catch (error) {
        if (!isUnavailable(error)) return await this.#split(rows, error);
        await delay(retryMs, undefined, { signal }).catch(() => undefined);
      }
    }
    return null;
  }

  /** Splits a failing batch, so that an invalid row does not affect others. */
  async #split(rows: readonly QueuedRow[], error: unknown): Promise<readonly QueuedRow[] | null> {
    if (rows.length <= 1) {
      this.#options.onLoss(error, rows.length);
      return rows;
    }
    const half = rows.length >> 1;
    const before = await this.#commit({ losses: [] }, rows.slice(0, half), true);
    const behind = await this.#commit({ losses: [] }, rows.slice(half), true);
    return before === null || behind === null ? null : [...before, ...behind];
  }
}
