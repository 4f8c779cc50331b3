/** Knows how the events of a response are told from the middle on, while they still come. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../../store/connection/db.ts';
import * as responseEvents from '../../store/objects/response-events.ts';
import type { ResponsePlace, StoredResponse } from '../../store/objects/responses.ts';
import { eventText, numberOf, unpackedEvents } from './event-lines.ts';
import { recordOf } from './response-record.ts';

export interface EventSource {
  readonly db: Db;
  readonly at: ResponsePlace;
  /** Undefined once it is deleted. */
  readonly find: () => Promise<StoredResponse | undefined>;
}

/** Between two looks for what has come. */
const lookMs = 250;

/** Those behind the number, and those that come, until the response has ended. */
export async function* eventsFrom(
  { db, at, find }: EventSource,
  afterNumber: number,
): AsyncGenerator<string> {
  let told = afterNumber;
  /** Of the last row that was seen, which may have become longer. */
  let from = 0;
  let next = 0;
  for (;;) {
    const row = await find();
    if (row === undefined) return;
    for (const { first_number: first, events } of await responseEvents.list(db, at, from)) {
      const lines = unpackedEvents(events);
      from = first;
      next = first + lines.length;
      for (const line of lines.slice(Math.max(0, told + 1 - first))) {
        told = Math.max(told, numberOf(line));
        yield eventText(line);
      }
    }
    const last = row.last_events === null ? [] : unpackedEvents(row.last_events);
    for (const line of last.filter((one) => numberOf(one) > told)) {
      told = numberOf(line);
      yield eventText(line);
    }
    if (row.alive_until === null) {
      // Unless its process has told the end of it.
      if (!isEnd(last.at(-1))) yield endOf(row, Math.max(told, next - 1) + 1);
      return;
    }
    await delay(lookMs);
  }
}

function isEnd(line: string | undefined): boolean {
  if (line === undefined) return false;
  const { type } = JSON.parse(line) as { readonly type: string };
  return ends.has(type);
}

const ends = new Set(
  ['completed', 'incomplete', 'failed', 'cancelled'].map((status) => `response.${status}`),
);

/** Of a response whose own process has told no end of it. */
export function endOf(row: StoredResponse, number: number): string {
  const type = `response.${row.status}`;
  return eventText(JSON.stringify({ type, sequence_number: number, response: recordOf(row) }));
}
