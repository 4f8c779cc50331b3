/** Knows the threads table: what messages and runs stand in. */
import type { Db } from '../connection/db.ts';

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
}

declare module '../connection/db.ts' {
  interface Tables {
    threads: ThreadRow;
  }
}

export type StoredThread = ThreadRow;

/** Whose. */
interface Place {
  readonly organisationId: string;
  readonly workspaceId: string;
}

export async function insert(db: Db, row: StoredThread): Promise<void> {
  await db.insertInto('threads').values(row).execute();
}

export function find(db: Db, place: Place, id: string): Promise<StoredThread | undefined> {
  return db
    .selectFrom('threads')
    .selectAll()
    .where('organisation_id', '=', place.organisationId)
    .where('id', '=', id)
    .where('workspace_id', '=', place.workspaceId)
    .executeTakeFirst();
}

/** Keeps a thread from being deleted until the transaction ends; whether it is there. */
export async function lock(
  tx: Db,
  { organisation_id: organisationId, id }: Pick<StoredThread, 'organisation_id' | 'id'>,
): Promise<boolean> {
  const row = await tx
    .selectFrom('threads')
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  return row !== undefined;
}

/** Those of the ids that are there. */
export async function listIds(db: Db, place: Place, ids: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom('threads')
    .select('id')
    .where('organisation_id', '=', place.organisationId)
    .where('id', 'in', ids)
    .where('workspace_id', '=', place.workspaceId)
    .execute();
  return rows.map(({ id }) => id);
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

/** With all that stands in it. */
export async function deleteById(
  tx: Db,
  { organisation_id: organisationId, id }: StoredThread,
): Promise<void> {
  await tx
    .deleteFrom('threads')
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .execute();
  for (const table of ['run_steps', 'runs', 'thread_messages'] as const) {
    await tx
      .deleteFrom(table)
      .where('organisation_id', '=', organisationId)
      .where('thread_id', '=', id)
      .execute();
  }
}
