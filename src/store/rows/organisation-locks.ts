/** Serialises transactions that decide about several resources of an organisation, by a row that each writes. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';

declare module '../connection/db.ts' {
  interface Tables {
    organisation_locks: { organisation_id: string; version: number };
  }
}

/**
 * Locks an organisation until the end of the transaction. Call it before other rows are locked, so that
 * concurrent transactions wait instead of deadlocking.
 *
 * It writes, because a lock without a write does not reach other nodes of a cluster. It does not write the
 * organisation's own row, which a sharded engine stores on another server and may unlock before the
 * transaction's other writes are visible.
 */
export async function lock(tx: Db, organisationId: string): Promise<void> {
  await tx
    .insertInto('organisation_locks')
    .values({ organisation_id: organisationId, version: 1 })
    .onDuplicateKeyUpdate({ version: sql`version + 1` })
    .execute();
}
