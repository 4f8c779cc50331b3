/** Knows the response_events table: what streams of responses have told, while they go on and after. */
import type { Db } from '../connection/db.ts';
import { insertion } from '../connection/statement.ts';

export interface ResponseEventsRow {
  organisation_id: string;
  response_id: string;
  /** Of the first event in it. */
  first_number: number;
  /** Data of the events, one a line, deflated. */
  events: Buffer;
}

declare module '../connection/db.ts' {
  interface Tables {
    response_events: ResponseEventsRow;
  }
}

export const insert = insertion((db, row: ResponseEventsRow & Record<string, unknown>) =>
  db.insertInto('response_events').values(row),
);

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
