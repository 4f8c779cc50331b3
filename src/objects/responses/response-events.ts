/** Streams the stored events of a response from any position, while further events are added. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../../store/connection/db.ts';
import * as responseEvents from '../../store/objects/response-events.ts';
import type { ResponseKey, StoredResponse } from '../../store/objects/responses.ts';
import { eventNumber, formatEvent, unpackEvents } from './event-lines.ts';
import { parseRecord } from './response-record.ts';

export interface EventSource {
  readonly db: Db;
  readonly at: ResponseKey;
  /** Returns undefined once the response is deleted. */
  readonly find: () => Promise<StoredResponse | undefined>;
}

/** Interval between two queries for new events. */
const pollMs = 250;

/** Yields the events after a number, and later ones, until the response ends. */
export async function* streamEventsAfter(
  { db, at, find }: EventSource,
  afterNumber: number,
): AsyncGenerator<string> {
  let sentNumber = afterNumber;
  /** First number of the last row, which can still grow. */
  let from = 0;
  let next = 0;
  for (;;) {
    const row = await find();
    if (row === undefined) return;
    for (const { first_number: first, events } of await responseEvents.list(db, at, from)) {
      const lines = unpackEvents(events);
      from = first;
      next = first + lines.length;
      for (const line of lines.slice(Math.max(0, sentNumber + 1 - first))) {
        sentNumber = Math.max(sentNumber, eventNumber(line));
        yield formatEvent(line);
      }
    }
    const last = row.last_events === null ? [] : unpackEvents(row.last_events);
    for (const line of last.filter((event) => eventNumber(event) > sentNumber)) {
      sentNumber = eventNumber(line);
      yield formatEvent(line);
    }
    if (row.alive_until === null) {
      // Its own process may already have sent the final event.
      if (!isFinalEvent(last.at(-1))) yield finalEvent(row, Math.max(sentNumber, next - 1) + 1);
      return;
    }
    await delay(pollMs);
  }
}

function isFinalEvent(line: string | undefined): boolean {
  if (line === undefined) return false;
  const { type } = JSON.parse(line) as { readonly type: string };
  return finalEventTypes.has(type);
}

const finalEventTypes = new Set(
  ['completed', 'incomplete', 'failed', 'cancelled'].map((status) => `response.${status}`),
);

/** Final event for a response whose process did not send one. */
export function finalEvent(row: StoredResponse, number: number): string {
  const type = `response.${row.status}`;
  return formatEvent(JSON.stringify({ type, sequence_number: number, response: parseRecord(row) }));
}
