/** Knows the thread_messages table: what was said in threads, by callers and by runs. */
import type { Db } from '../connection/db.ts';
import { type CreatedPage, isBetween } from '../rows/created-page.ts';

interface ThreadMessageRow {
  organisation_id: string;
  id: string;
  thread_id: string;
  role: 'user' | 'assistant';
  /** JSON list of parts. */
  content: string;
  /** JSON object. */
  metadata: string;
  /** Both null for a message of the caller. */
  assistant_id: string | null;
  run_id: string | null;
  /** Null for one that is whole. */
  incomplete_reason:
    | 'max_tokens'
    | 'content_filter'
    | 'run_failed'
    | 'run_cancelled'
    | 'run_expired'
    | null;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    thread_messages: ThreadMessageRow;
  }
}

export type StoredMessage = ThreadMessageRow;

/** A thread whose owner is known. */
type Thread = Readonly<{ organisation_id: string; id: string }>;

export async function insert(db: Db, rows: readonly StoredMessage[]): Promise<void> {
  if (rows.length > 0) await db.insertInto('thread_messages').values(rows).execute();
}

export function find(db: Db, thread: Thread, id: string): Promise<StoredMessage | undefined> {
  return db
    .selectFrom('thread_messages')
    .selectAll()
    .where('organisation_id', '=', thread.organisation_id)
    .where('id', '=', id)
    .where('thread_id', '=', thread.id)
    .executeTakeFirst();
}

/** At most one more than the limit, which tells that there are more; of one run where it is named. */
export function list(
  db: Db,
  thread: Thread,
  page: CreatedPage,
  runId: string | null = null,
): Promise<StoredMessage[]> {
  return db
    .selectFrom('thread_messages')
    .selectAll()
    .where('organisation_id', '=', thread.organisation_id)
    .where('thread_id', '=', thread.id)
    .where(isBetween(page))
    .$if(runId !== null, (query) => query.where('run_id', '=', runId))
    .orderBy('created_at', page.order)
    .orderBy('id', page.order)
    .limit(page.limit + 1)
    .execute();
}

export async function updateMetadata(
  db: Db,
  { organisation_id: organisationId, id }: StoredMessage,
  metadata: string,
): Promise<void> {
  await db
    .updateTable('thread_messages')
    .set({ metadata })
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .execute();
}

/** Whether it was there. */
export async function deleteById(db: Db, thread: Thread, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('thread_messages')
    .where('organisation_id', '=', thread.organisation_id)
    .where('id', '=', id)
    .where('thread_id', '=', thread.id)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}
