/** Knows the threads table: what messages and runs stand in. */
import type { Db } from '../connection/db.ts';
import { findOwn, type OwnerPlace } from '../rows/owned-rows.ts';

interface ThreadRow {
  organisation_id: string;
  id: string;
  /** '' for a key of the organisation. */
  workspace_id: string;
  api_key_id: string;
  /** JSON object: what tools of its runs work on. */
  tool_resources: string;
  /** JSON object. */
  metadata: string;
  created_at: number;
  /** When a message was added last, or a run made. */
  used_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    threads: ThreadRow;
  }
}

export type StoredThread = ThreadRow;

export async function insert(db: Db, row: StoredThread): Promise<void> {
  await db.insertInto('threads').values(row).execute();
}

export function find(db: Db, place: OwnerPlace, id: string): Promise<StoredThread | undefined> {
  return findOwn(db, 'threads', place, id);
}

/** Notes that it is used, and keeps it from being deleted until the transaction ends; whether it is there. */
export async function use(
  tx: Db,
  { organisation_id: organisationId, id }: Pick<StoredThread, 'organisation_id' | 'id'>,
  now: number,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('threads')
    .set({ used_at: now })
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

export async function update(
  db: Db,
  { organisation_id: organisationId, id }: StoredThread,
  set: Pick<StoredThread, 'metadata' | 'tool_resources'>,
): Promise<void> {
  await db
    .updateTable('threads')
    .set(set)
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .execute();
}

/** Up to `limit` that nobody has used since `moment`, of whatever organisation. */
export function listUnused(
  db: Db,
  moment: number,
  limit: number,
): Promise<Pick<StoredThread, 'organisation_id' | 'id'>[]> {
  return db
    .selectFrom('threads')
    .select(['organisation_id', 'id'])
    .where('used_at', '<=', moment)
    .orderBy('used_at')
    .limit(limit)
    .execute();
}

/** With all that stands in it; whether it was there, and not used after `unusedSince`, null for whenever. */
export async function deleteById(
  tx: Db,
  { organisation_id: organisationId, id }: Pick<StoredThread, 'organisation_id' | 'id'>,
  unusedSince: number | null = null,
): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('threads')
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .$if(unusedSince !== null, (query) => query.where('used_at', '<=', unusedSince!))
    .executeTakeFirstOrThrow();
  if (numDeletedRows === 0n) return false;
  for (const table of ['run_steps', 'runs', 'thread_messages'] as const) {
    await tx
      .deleteFrom(table)
      .where('organisation_id', '=', organisationId)
      .where('thread_id', '=', id)
      .execute();
  }
  return true;
}
