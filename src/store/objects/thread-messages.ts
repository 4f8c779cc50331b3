/** Table functions for thread_messages: the messages of threads, from callers and from runs. */
import type { Db } from '../connection/db.ts';
import { type CreatedPage, createdPage } from '../rows/created-page.ts';
import { rows } from '../rows/rows.ts';

interface ThreadMessageRow {
  organisation_id: string;
  id: string;
  thread_id: string;
  role: 'user' | 'assistant';
  /** JSON list of parts. */
  content: string;
  /** JSON object. */
  metadata: string;
  /** Null, like `run_id`, for a message of the caller. */
  assistant_id: string | null;
  run_id: string | null;
  /** Null for a complete message. */
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

/** A thread whose owner has been checked. */
type Thread = Readonly<{ organisation_id: string; id: string }>;

const table = rows('thread_messages');

export const { insertMany: insert } = table;

const ofThread = ({ organisation_id, id }: Thread) => ({ organisation_id, thread_id: id });

export function find(db: Db, thread: Thread, id: string): Promise<StoredMessage | undefined> {
  return table.find(db, { ...ofThread(thread), id });
}

/** One page, and one more row when more exist; restricted to one run unless `runId` is null. */
export function list(
  db: Db,
  thread: Thread,
  page: CreatedPage,
  runId: string | null = null,
): Promise<StoredMessage[]> {
  const filter = { ...ofThread(thread), run_id: runId ?? undefined };
  return createdPage(table.matching(db, filter).selectAll(), page).execute();
}

export async function updateMetadata(
  db: Db,
  { organisation_id, id }: StoredMessage,
  metadata: string,
): Promise<void> {
  await table.update(db, { organisation_id, id }, { metadata });
}

/** Returns whether it existed. */
export async function deleteById(db: Db, thread: Thread, id: string): Promise<boolean> {
  return (await table.delete(db, { ...ofThread(thread), id })) > 0;
}
