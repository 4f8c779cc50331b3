/** Table functions for idempotency_keys: requests that were carried out under a key, and their sealed responses. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { rows } from '../rows/rows.ts';

export interface IdempotencyKeyRow {
  organisation_id: string;
  principal_id: string;
  idempotency_key: string;
  /** SHA-256. */
  request_hash: Buffer;
  /** Null only until the transaction that inserts it commits. */
  answer: string | null;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    idempotency_keys: IdempotencyKeyRow;
  }
}

const byKey = rows('idempotency_keys').keyedBy(
  'organisation_id',
  'principal_id',
  'idempotency_key',
);

/** Includes the principal, so that no principal receives another's response. */
export type KeyIdentity = Pick<
  IdempotencyKeyRow,
  'organisation_id' | 'principal_id' | 'idempotency_key'
>;

/**
 * Locks the row of a key, inserting it if necessary, and returns it. It has an answer when the key was
 * used before. A second request waits until the first one's transaction ends.
 */
export async function lock(
  tx: Db,
  identity: KeyIdentity,
  made: Pick<IdempotencyKeyRow, 'request_hash' | 'created_at'>,
): Promise<IdempotencyKeyRow> {
  await tx
    .insertInto('idempotency_keys')
    .values({ ...identity, ...made, answer: null })
    // Takes an exclusive lock at once. A rejected insert would take a shared lock, and two of those deadlock.
    .onDuplicateKeyUpdate({ created_at: sql`created_at` })
    .execute();
  return (await byKey.findForUpdate(tx, identity))!;
}

/** Replaces the contents of a locked row. */
export async function update(
  tx: Db,
  identity: KeyIdentity,
  row: Omit<IdempotencyKeyRow, keyof KeyIdentity>,
): Promise<void> {
  await byKey.update(tx, identity, row);
}
