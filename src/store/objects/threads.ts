/** Table functions for threads: containers of messages and runs. */
import type { Db } from '../connection/db.ts';
import { type ObjectOwner, ownedBy } from '../rows/owned-rows.ts';
import { atMost } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';

interface ThreadRow {
  organisation_id: string;
  id: string;
  /** '' for a key of the organisation. */
  workspace_id: string;
  api_key_id: string;
  /** JSON object: resources for the tools of its runs. */
  tool_resources: string;
  /** JSON object. */
  metadata: string;
  created_at: number;
  /** When a message or run was last added. */
  used_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    threads: ThreadRow;
  }
}

export type StoredThread = ThreadRow;

type ThreadKey = Pick<StoredThread, 'organisation_id' | 'id'>;

const table = rows('threads');
const dependents = [rows('run_steps'), rows('runs'), rows('thread_messages')];

export const { insert } = table;

export function find(db: Db, owner: ObjectOwner, id: string): Promise<StoredThread | undefined> {
  return table.find(db, { ...ownedBy(owner), id });
}

/** Records a use, which keeps the thread from being deleted until the transaction ends. Returns whether it exists. */
export async function use(
  tx: Db,
  { organisation_id, id }: ThreadKey,
  now: number,
): Promise<boolean> {
  return (await table.update(tx, { organisation_id, id }, { used_at: now })) > 0;
}

export async function update(
  db: Db,
  { organisation_id, id }: StoredThread,
  set: Pick<StoredThread, 'metadata' | 'tool_resources'>,
): Promise<void> {
  await table.update(db, { organisation_id, id }, set);
}

/** Up to `limit` threads of any organisation that have not been used since a time. */
export function listUnused(db: Db, since: number, limit: number): Promise<ThreadKey[]> {
  return table.listAnywhere(
    db,
    { used_at: atMost(since) },
    { columns: ['organisation_id', 'id'], orderBy: ['used_at'], limit },
  );
}

/** Deletes a thread with its contents, unless it was used after `unusedSince`. Returns whether it was deleted. */
export async function deleteById(
  tx: Db,
  { organisation_id, id }: ThreadKey,
  unusedSince: number | null = null,
): Promise<boolean> {
  const unused = unusedSince === null ? {} : { used_at: atMost(unusedSince) };
  if ((await table.delete(tx, { organisation_id, id, ...unused })) === 0) return false;
  for (const dependent of dependents) {
    await dependent.delete(tx, { organisation_id, thread_id: id });
  }
  return true;
}
