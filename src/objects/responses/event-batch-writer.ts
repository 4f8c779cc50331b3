/** Writes the events of all streams of a process to the database in batches, before they are sent to callers. */

import { setTimeout as delay } from 'node:timers/promises';
import { detach } from '../../detached.ts';
import type { Db } from '../../store/connection/db.ts';
import * as responseEvents from '../../store/objects/response-events.ts';

/** Minimum interval between two batches of one organisation; no event waits much longer. */
const batchIntervalMs = 50;
/** Maximum size of one statement, unless a single row is larger. */
const statementBytesMax = 1024 * 1024;

interface WaitingRow {
  readonly row: responseEvents.ResponseEventsRow;
  readonly written: PromiseWithResolvers<void>;
}

export class EventBatchWriter {
  readonly #db: Db;
  /** Rows by organisation; an organisation without recent rows has no entry. */
  readonly #waiting = new Map<string, WaitingRow[]>();

  constructor(db: Db) {
    this.#db = db;
  }

  /** Resolves once the row is stored; it replaces a row of the same response with the same first event. */
  write(row: responseEvents.ResponseEventsRow): Promise<void> {
    const written = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(row.organisation_id);
    const entry = { row, written };
    if (waiting !== undefined) waiting.push(entry);
    else {
      const queue = [entry];
      this.#waiting.set(row.organisation_id, queue);
      detach('writing the events of responses', this.#writeAll(row.organisation_id, queue));
    }
    return written.promise;
  }

  /** The first row is written at once; rows that arrive meanwhile are written together. */
  async #writeAll(organisationId: string, waiting: WaitingRow[]): Promise<void> {
    while (waiting.length > 0) {
      const rest = delay(batchIntervalMs);
      const { length } = waiting;
      for (let taken = 0; taken < length; ) {
        const batch = waiting.splice(0, batchSize(waiting, length - taken));
        taken += batch.length;
        await this.#writeBatch(batch);
      }
      await rest;
    }
    this.#waiting.delete(organisationId);
  }

  async #writeBatch(batch: readonly WaitingRow[]): Promise<void> {
    try {
      await responseEvents.put(
        this.#db,
        batch.map(({ row }) => row),
      );
    } catch (error) {
      for (const { written } of batch) written.reject(error);
      return;
    }
    for (const { written } of batch) written.resolve();
  }
}

/** Number of rows at the start of the queue that fit into one statement. */
function batchSize(waiting: readonly WaitingRow[], countMax: number): number {
  let bytes = waiting[0]!.row.events.length;
  let count = 1;
  for (; count < countMax; count += 1) {
    bytes += waiting[count]!.row.events.length;
    if (bytes > statementBytesMax) break;
  }
  return count;
}
