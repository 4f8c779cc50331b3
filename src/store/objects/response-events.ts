/** Knows the response_events table: what streams of responses have told, while they go on and after. */
import type { Db } from '../connection/db.ts';
import { bulkInsert, type InsertTarget } from '../rows/bulk-insert.ts';

export interface ResponseEventsRow {
  organisation_id: string;
  response_id: string;
  /** Of the first event in it. */
  first_number: number;
  /** Data of the events, one a line, deflated. While they come, longer ones take the place of the last of a response. */
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

/** Of one organisation; each in place of what is there with the same first event. */
export function put(db: Db, rows: readonly ResponseEventsRow[]): Promise<void> {
  return bulkInsert(db, target, rows, 'ON DUPLICATE KEY UPDATE events = VALUES(events)');
}

/** Those whose first event has at least that number, in their order. */
export function list(
  db: Db,
  { organisationId, id }: { readonly organisationId: string; readonly id: string },
  fromNumber: number,
): Promise<ResponseEventsRow[]> {
  return db
    .selectFrom('response_events')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('response_id', '=', id)
    .where('first_number', '>=', fromNumber)
    .orderBy('first_number')
    .execute();
}
