/** Knows the idempotency_keys table: which requests were carried out under a key, and their sealed answers. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';

export interface IdempotencyKeyRow {
  organisation_id: string;
  principal_id: string;
  idempotency_key: string;
  /** SHA-256. */
  request_hash: Buffer;
  /** Null only while the transaction that makes it is open. */
  answer: string | null;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    idempotency_keys: IdempotencyKeyRow;
  }
}

/** Whose key it is: one principal does not learn what another was answered. */
export type KeyIdentity = Pick<
  IdempotencyKeyRow,
  'organisation_id' | 'principal_id' | 'idempotency_key'
>;

/**
 * Locks the row of a key, making it where there is none, and yields it: with an answer when it was
 * used before. Whoever comes second waits for the end of the first one's transaction.
 */
export async function lock(
  tx: Db,
  identity: KeyIdentity,
  made: Pick<IdempotencyKeyRow, 'request_hash' | 'created_at'>,
): Promise<IdempotencyKeyRow> {
  await tx
    .insertInto('idempotency_keys')
    .values({ ...identity, ...made, answer: null })
    // Takes the lock to write at once; a refused insert would take one to read, and two of those block.
    .onDuplicateKeyUpdate({ created_at: sql`created_at` })
    .execute();
  return await tx
    .selectFrom('idempotency_keys')
    .selectAll()
    .where('organisation_id', '=', identity.organisation_id)
    .where('principal_id', '=', identity.principal_id)
    .where('idempotency_key', '=', identity.idempotency_key)
    .forUpdate()
    .executeTakeFirstOrThrow();
}

/** Sets what a locked row of a key tells from now on. */
export async function update(
  tx: Db,
  identity: KeyIdentity,
  row: Omit<IdempotencyKeyRow, keyof KeyIdentity>,
): Promise<void> {
  await tx
    .updateTable('idempotency_keys')
    .set(row)
    .where('organisation_id', '=', identity.organisation_id)
    .where('principal_id', '=', identity.principal_id)
    .where('idempotency_key', '=', identity.idempotency_key)
    .execute();
}
