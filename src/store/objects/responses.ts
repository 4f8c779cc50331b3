/** Table functions for responses: stored responses with their input and their predecessors. */
import type { Db } from '../connection/db.ts';
import { statement } from '../connection/statement.ts';
import { listIdsBefore } from '../rows/old-rows.ts';
import { type ObjectOwner, ownedBy } from '../rows/owned-rows.ts';
import { lessThan } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';

type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';

interface ResponseRow {
  organisation_id: string;
  id: string;
  /** '' for a key of the organisation. */
  workspace_id: string;
  api_key_id: string;
  /** Id of the first response of the conversation. */
  root_id: string;
  previous_id: string | null;
  status: ResponseStatus;
  /** Until when its process counts as running; null once the response has ended. */
  alive_until: number | null;
  /** JSON list of its own input items, without those of its predecessors. */
  input: string;
  /** JSON, as sent to callers. */
  record: string;
  /** First events of a stream or, once it has ended, the events that no row of response_events contains. */
  last_events: Buffer | null;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    responses: ResponseRow;
  }
}

export type StoredResponse = ResponseRow;

/** A response and its owner. */
export interface ResponseKey extends ObjectOwner {
  readonly id: string;
}

const table = rows('responses');
const events = rows('response_events');

const whereOf = (key: ResponseKey) => ({ ...ownedBy(key), id: key.id });

export const { insert } = table;

export function find(db: Db, key: ResponseKey): Promise<StoredResponse | undefined> {
  return table.find(db, whereOf(key));
}

/** The columns that a following response needs. */
export type TurnRow = Pick<
  StoredResponse,
  'id' | 'root_id' | 'previous_id' | 'status' | 'input' | 'record'
>;

const tree = statement(
  (
    db,
    {
      organisationId,
      workspaceId,
      id,
    }: { organisationId: string; workspaceId: string; id: string },
  ) =>
    db
      .selectFrom('responses as named')
      .innerJoin('responses as r', (join) =>
        join
          .onRef('r.organisation_id', '=', 'named.organisation_id')
          .onRef('r.root_id', '=', 'named.root_id'),
      )
      .select(['r.id', 'r.root_id', 'r.previous_id', 'r.status', 'r.input', 'r.record'])
      .where('named.organisation_id', '=', organisationId)
      .where('named.id', '=', id)
      .where('named.workspace_id', '=', workspaceId),
);

/** All responses with the same root, unordered; empty when the response does not exist. */
export function listTree(
  db: Db,
  { organisationId, workspaceId, id }: ResponseKey,
): Promise<TurnRow[]> {
  return tree.all(db, { organisationId, workspaceId, id });
}

/**
 * Updates a response in progress and returns whether it was in progress. With `lostAt` it must also
 * have missed its process's sign of life by then; null when its own process updates it.
 */
export async function update(
  db: Db,
  key: ResponseKey,
  set: Partial<Pick<StoredResponse, 'status' | 'alive_until' | 'record' | 'last_events'>>,
  lostAt: number | null = null,
): Promise<boolean> {
  const lost = lostAt === null ? {} : { alive_until: lessThan(lostAt) };
  return (await table.update(db, { ...whereOf(key), status: 'in_progress', ...lost }, set)) > 0;
}

/** Responses of any organisation whose process has stopped reporting, the longest ago first. */
export function listLost(db: Db, now: number, limit: number): Promise<StoredResponse[]> {
  return table.listAnywhere(
    db,
    { alive_until: lessThan(now) },
    { orderBy: ['alive_until'], limit },
  );
}

/** Deletes a response with its events; returns whether it existed. */
export async function deleteById(tx: Db, key: ResponseKey): Promise<boolean> {
  if ((await table.delete(tx, whereOf(key))) === 0) return false;
  await deleteEvents(tx, key.organisationId, [key.id]);
  return true;
}

export const deleteEvents = events.deleteBy('organisation_id', 'response_id');

export const aged = { table: 'responses', column: 'created_at' } as const;

/**
 * Deletes up to `limit` responses of an organisation created before a time, oldest first, with their
 * events. Returns their number.
 */
export async function deleteOld(
  tx: Db,
  organisationId: string,
  before: number,
  limit: number,
): Promise<number> {
  const ids = await listIdsBefore(tx, aged, organisationId, before, limit);
  await deleteEvents(tx, organisationId, ids);
  return table.delete(tx, { organisation_id: organisationId, id: ids });
}
