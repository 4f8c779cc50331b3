/** Knows the responses table: responses that the gateway keeps, with what they were asked and what they go on from. */
import type { Db } from '../connection/db.ts';
import { insertion, statement } from '../connection/statement.ts';
import { listIdsBefore } from '../rows/old-rows.ts';
import type { OwnerPlace } from '../rows/owned-rows.ts';

type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';

interface ResponseRow {
  organisation_id: string;
  id: string;
  /** '' for a key of the organisation. */
  workspace_id: string;
  api_key_id: string;
  /** Of all that go on from one another: the id of the first. */
  root_id: string;
  previous_id: string | null;
  status: ResponseStatus;
  /** Until when its process is taken to be at work on it; null once it has ended. */
  alive_until: number | null;
  /** JSON list of the items that it was asked, without those it goes on from. */
  input: string;
  /** JSON, as callers get it. */
  record: string;
  /** Of a stream: those with which it began or, when it has ended, those that no row of response_events holds. */
  last_events: Buffer | null;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    responses: ResponseRow;
  }
}

export type StoredResponse = ResponseRow;

/** Whose response it is, and which. */
export interface ResponsePlace extends OwnerPlace {
  readonly id: string;
}

export const insert = insertion((db, row: StoredResponse & Record<string, unknown>) =>
  db.insertInto('responses').values(row),
);

const byId = statement((db, { organisationId, workspaceId, id }: Placed) =>
  db
    .selectFrom('responses')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId),
);

type Placed = { organisationId: string; workspaceId: string; id: string };

export function find(db: Db, at: ResponsePlace): Promise<StoredResponse | undefined> {
  return byId.first(db, { ...placed(at) });
}

function placed({ organisationId, workspaceId, id }: ResponsePlace): Placed {
  return { organisationId, workspaceId, id };
}

/** What of a response others go on from. */
export type TurnRow = Pick<
  StoredResponse,
  'id' | 'root_id' | 'previous_id' | 'status' | 'input' | 'record'
>;

const tree = statement((db, { organisationId, workspaceId, id }: Placed) =>
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

/** It and all that have its root, in no order; none where there is no such response. */
export function listTree(db: Db, at: ResponsePlace): Promise<TurnRow[]> {
  return tree.all(db, { ...placed(at) });
}

/** What a response is from now on; whether it had not ended. Null for `lostAt` where its own process says so. */
export async function update(
  db: Db,
  { organisationId, workspaceId, id }: ResponsePlace,
  set: Partial<Pick<StoredResponse, 'status' | 'alive_until' | 'record' | 'last_events'>>,
  lostAt: number | null = null,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('responses')
    .set(set)
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .where('status', '=', 'in_progress')
    .$if(lostAt !== null, (query) => query.where('alive_until', '<', lostAt))
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Some whose process has given no sign of life for too long, those first that have been without for longest. */
export function listLost(db: Db, now: number, limit: number): Promise<StoredResponse[]> {
  return db
    .selectFrom('responses')
    .selectAll()
    .where('alive_until', '<', now)
    .orderBy('alive_until')
    .limit(limit)
    .execute();
}

/** With its events; whether it was there. */
export async function deleteById(tx: Db, at: ResponsePlace): Promise<boolean> {
  const { organisationId, workspaceId, id } = at;
  const { numDeletedRows } = await tx
    .deleteFrom('responses')
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow();
  if (numDeletedRows === 0n) return false;
  await deleteEvents(tx, organisationId, [id]);
  return true;
}

export async function deleteEvents(
  tx: Db,
  organisationId: string,
  ids: readonly string[],
): Promise<void> {
  await tx
    .deleteFrom('response_events')
    .where('organisation_id', '=', organisationId)
    .where('response_id', 'in', ids)
    .execute();
}

export const aged = { table: 'responses', column: 'created_at' } as const;

/** Deletes up to `limit` of an organisation's that were made before then, oldest first, with their events; yields how many. */
export async function deleteOld(
  tx: Db,
  organisationId: string,
  before: number,
  limit: number,
): Promise<number> {
  const ids = await listIdsBefore(tx, aged, organisationId, before, limit);
  if (ids.length === 0) return 0;
  await deleteEvents(tx, organisationId, ids);
  const { numDeletedRows } = await tx
    .deleteFrom('responses')
    .where('organisation_id', '=', organisationId)
    .where('id', 'in', ids)
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
