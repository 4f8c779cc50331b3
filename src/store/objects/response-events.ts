/** Table functions for response_events: the events of streamed responses, during and after the stream. */
import type { Db } from '../connection/db.ts';
import { bulkInsert, type InsertTarget } from '../rows/bulk-insert.ts';
import { atLeast } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';

export interface ResponseEventsRow {
  organisation_id: string;
  response_id: string;
  /** Number of the row's first event. */
  first_number: number;
  /** Data of the events, one a line, deflated. During the stream a longer row replaces the last one of a response. */
  events: Buffer;
}

declare module '../connection/db.ts' {
  interface Tables {
    response_events: ResponseEventsRow;
  }
}

const target: InsertTarget<ResponseEventsRow> = {
  table: 'response_events',
  columns: ['organisation_id', 'response_id', 'first_number', 'events'],
};

/** Writes rows of one organisation; each replaces a row with the same first event. */
export function put(db: Db, many: readonly ResponseEventsRow[]): Promise<void> {
  return bulkInsert(db, target, many, 'ON DUPLICATE KEY UPDATE events = VALUES(events)');
}

const table = rows('response_events');

/** Rows whose first event has at least the number `fromNumber`, in order. */
export function list(
  db: Db,
  { organisationId, id }: { readonly organisationId: string; readonly id: string },
  fromNumber: number,
): Promise<ResponseEventsRow[]> {
  const where = {
    organisation_id: organisationId,
    response_id: id,
    first_number: atLeast(fromNumber),
  };
  return table.list(db, where, { orderBy: ['first_number'] });
}
