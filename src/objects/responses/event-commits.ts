/** Knows how the events of all streams of a process are written: many by one statement, and each before it is told. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../../store/connection/db.ts';
import * as responseEvents from '../../store/objects/response-events.ts';

/** Between the beginnings of two statements of one organisation: no event waits much longer. */
const everyMs = 50;
/** Of one statement, unless a single row has more. */
const statementBytesMax = 1024 * 1024;

interface Waiting {
  readonly row: responseEvents.ResponseEventsRow;
  readonly written: PromiseWithResolvers<void>;
}

export class EventCommits {
  readonly #db: Db;
  /** By organisation; those that have had nothing to write for a while are none. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(db: Db) {
    this.#db = db;
  }

  /** Resolves once it is there, in place of what was there of the same response with the same first event. */
  write(row: responseEvents.ResponseEventsRow): Promise<void> {
    const written = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(row.organisation_id);
    const one = { row, written };
    if (waiting !== undefined) waiting.push(one);
    else {
      const begun = [one];
      this.#waiting.set(row.organisation_id, begun);
      void this.#writeAll(row.organisation_id, begun);
    }
    return written.promise;
  }

  /** What comes first goes at once; what comes meanwhile goes together. */
  async #writeAll(organisationId: string, waiting: Waiting[]): Promise<void> {
    while (waiting.length > 0) {
      const rest = delay(everyMs);
      const { length } = waiting;
      for (let taken = 0; taken < length; ) {
        const some = waiting.splice(0, fitting(waiting, length - taken));
        taken += some.length;
        await this.#writeSome(some);
      }
      await rest;
    }
    this.#waiting.delete(organisationId);
  }

  async #writeSome(some: readonly Waiting[]): Promise<void> {
    try {
      await responseEvents.put(
        this.#db,
        some.map(({ row }) => row),
      );
    } catch (error) {
      for (const { written } of some) written.reject(error);
      return;
    }
    for (const { written } of some) written.resolve();
  }
}

/** How many of the first ones go into one statement. */
function fitting(waiting: readonly Waiting[], countMax: number): number {
  let bytes = waiting[0]!.row.events.length;
  let count = 1;
  for (; count < countMax; count += 1) {
    bytes += waiting[count]!.row.events.length;
    if (bytes > statementBytesMax) break;
  }
  return count;
}
