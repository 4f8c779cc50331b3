/** Writes batches of log rows: retries while their database is away, omits rows that it rejects. */
import { setTimeout as delay } from 'node:timers/promises';
import { isUnavailable } from '../../store/connection/unavailable.ts';
import type { LogContents, LogSink } from './log-sink.ts';
import type { QueuedBatch, QueuedRow } from './request-log-queue.ts';

export interface RequestLogWriterOptions {
  readonly sink: LogSink;
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
    { lost }: Pick<LogContents, 'lost'>,
    rows: readonly QueuedRow[],
    mayBeThere: boolean,
  ): Promise<readonly QueuedRow[] | null> {
    const { sink, retryMs, signal } = this.#options;
    for (let isRepeated = mayBeThere; !signal.aborted; isRepeated = true) {
      try {
        await sink.write({ rows, lost }, isRepeated);
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
    const before = await this.#commit({ lost: [] }, rows.slice(0, half), true);
    const behind = await this.#commit({ lost: [] }, rows.slice(half), true);
    return before === null || behind === null ? null : [...before, ...behind];
  }
}
