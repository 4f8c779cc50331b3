/** Knows how requests come into the log: off their way, many at once, within bounds, and none lost without being counted. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { totalsStepOf } from '../model/request-log.ts';
import type { Database } from '../store/connection/db.ts';
import { isUnavailable } from '../store/connection/unavailable.ts';
import type { RequestTotalRow } from '../store/tables/request-totals.ts';
import { type Batch, type LoggedRecord, lossOf, rowOf, writeBatch } from './request-log-batch.ts';
import type { RequestRecord } from './request-record.ts';

export interface RequestLogOptions {
  readonly database: Pick<Database, 'transaction'>;
  /** A row that the database does not take, or rows that are given up. */
  readonly onLoss: (error: unknown, requests: number) => void;
  readonly bounds?: Partial<RequestLogBounds>;
}

export interface RequestLogBounds {
  /** Requests that may wait to be written. */
  readonly waitingMax: number;
  /** Characters of their metadata, about. */
  readonly waitingCharsMax: number;
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
const batchRowsMax = 500;
const batchCharsMax = 1024 * 1024;
/** Transactions at once; each is about one organisation. */
const writersMax = 4;

/** {@link record} takes what happened; {@link close} writes what waits. */
export class RequestLog {
  readonly #database: RequestLogOptions['database'];
  readonly #onLoss: RequestLogOptions['onLoss'];
  readonly #bounds: RequestLogBounds;
  #waiting: LoggedRecord[] = [];
  /** Of {@link #waiting} and of what is being written. */
  #count = 0;
  #chars = 0;
  #written = 0;
  #lost = 0;
  /** Losses that the database does not know of yet: by organisation, and by hour. */
  readonly #losses = new Map<string, Map<number, number>>();
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;
  readonly #givesUp = new AbortController();

  constructor({ database, onLoss, bounds = {} }: RequestLogOptions) {
    this.#database = database;
    this.#onLoss = onLoss;
    this.#bounds = { ...usualBounds, ...bounds };
  }

  /** A request of nobody that is known belongs to no log. */
  record(entry: RequestRecord): void {
    if (!isOfSomebody(entry)) return;
    const { waitingMax, waitingCharsMax, flushEveryMs } = this.#bounds;
    const chars = charsOf(entry);
    if (this.#count >= waitingMax || this.#chars + chars > waitingCharsMax)
      this.#lose(entry.organisationId, Math.round(entry.startedAt + entry.durationMs));
    else {
      this.#waiting.push(entry);
      this.#count += 1;
      this.#chars += chars;
    }
    if (this.#waiting.length >= batchRowsMax) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), flushEveryMs).unref();
  }

  figures(): RequestLogFigures {
    return { written: this.#written, lost: this.#lost, waiting: this.#count };
  }

  /** Writes what waits, for as long as it may take; what is left then is lost, counted and told. */
  async close(withinMs: number): Promise<void> {
    const clock = setTimeout(() => this.#givesUp.abort(), withinMs);
    const givenUp = once(this.#givesUp.signal, 'abort');
    while (this.#writing !== null || this.#waiting.length > 0 || this.#losses.size > 0) {
      if (this.#givesUp.signal.aborted) break;
      this.#write();
      await Promise.race([this.#writing, givenUp]);
    }
    clearTimeout(clock);
    this.#givesUp.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#count === 0) return;
    this.#lost += this.#count;
    this.#onLoss(null, this.#count);
  }

  #lose(organisationId: string, endedAt: number): void {
    this.#lost += 1;
    const hour = totalsStepOf(endedAt);
    const hours = this.#losses.get(organisationId) ?? new Map<number, number>();
    this.#losses.set(organisationId, hours.set(hour, (hours.get(hour) ?? 0) + 1));
  }

  /** Begins, unless it is being done; goes on until nothing waits. */
  #write(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = null;
    });
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0 || this.#losses.size > 0) {
      const batches = this.#take().values();
      await Promise.all(
        Array.from({ length: writersMax }, async () => {
          for (const batch of batches) await this.#writeOne(batch);
        }),
      );
      if (this.#givesUp.signal.aborted) return;
    }
  }

  /** The oldest that wait, and all losses, by organisation. */
  #take(): Taken[] {
    let chars = 0;
    let rows = 0;
    for (const entry of this.#waiting) {
      if (rows === batchRowsMax || chars > batchCharsMax) break;
      rows += 1;
      chars += charsOf(entry);
    }
    const entries = Map.groupBy(this.#waiting.splice(0, rows), (one) => one.organisationId);
    const losses = new Map(this.#losses);
    this.#losses.clear();
    return [...new Set([...entries.keys(), ...losses.keys()])].map((organisationId) => {
      const taken = entries.get(organisationId) ?? [];
      return {
        rows: taken.map(rowOf),
        chars: taken.reduce((sum, entry) => sum + charsOf(entry), 0),
        losses: lossesOf(organisationId, losses.get(organisationId)),
      };
    });
  }

  async #writeOne(taken: Taken): Promise<void> {
    const { rows, chars } = taken;
    const refused = await this.#commit(taken);
    if (refused === null) return;
    this.#count -= rows.length;
    this.#chars -= chars;
    this.#written += rows.length - refused.length;
    for (const { organisation_id, ended_at } of refused) this.#lose(organisation_id, ended_at);
  }

  /** The rows that the database does not take; null where it is given up on. */
  async #commit(batch: Batch): Promise<Batch['rows'] | null> {
    const { retryMs } = this.#bounds;
    const { signal } = this.#givesUp;
    while (!signal.aborted) {
      try {
        await this.#database.transaction((tx) => writeBatch(tx, batch));
        return [];
      } catch (error) {
        if (!isUnavailable(error)) return await this.#takeApart(batch, error);
        await delay(retryMs, undefined, { signal }).catch(() => undefined);
      }
    }
    return null;
  }

  /** So that a row which fails takes no other along. */
  async #takeApart({ rows, losses }: Batch, error: unknown): Promise<Batch['rows'] | null> {
    const isOne = rows.length + Math.sign(losses.length) <= 1;
    if (isOne) this.#onLoss(error, rows.length);
    if (isOne) return rows;
    const half = losses.length > 0 ? 0 : rows.length >> 1;
    const before = await this.#commit({ rows: rows.slice(0, half), losses });
    const behind = await this.#commit({ rows: rows.slice(half), losses: [] });
    return before === null || behind === null ? null : [...before, ...behind];
  }
}

interface Taken extends Batch {
  readonly chars: number;
}

function isOfSomebody(entry: RequestRecord): entry is LoggedRecord {
  return entry.organisationId !== null;
}

function lossesOf(
  organisationId: string,
  hours: ReadonlyMap<number, number> | undefined,
): RequestTotalRow[] {
  return [...(hours ?? [])].map(([hour, requests]) => lossOf(organisationId, hour, requests));
}

/** About what a record holds that callers may make long. */
function charsOf({ metadata, model, requestedModel }: RequestRecord): number {
  let chars = (model?.length ?? 0) + (requestedModel?.length ?? 0);
  for (const name in metadata) chars += name.length + String(metadata[name]).length;
  return chars;
}
