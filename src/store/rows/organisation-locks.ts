/** Knows how one after the other decides about all that an organisation holds: by a row that each writes. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';

declare module '../connection/db.ts' {
  interface Tables {
    organisation_locks: { organisation_id: string; version: number };
  }
}

/**
 * Whoever decides about several resources of an organisation at once does so alone from here to the
 * end of the transaction. Call it before rows are locked, so that two who decide at once wait and do
 * not meet in a deadlock.
 *
 * A write, because a lock alone ends at its node of a cluster; and not of the organisation's own row,
 * which a sharded engine keeps on another server and lets go before what was decided is seen.
 */
export async function lock(tx: Db, organisationId: string): Promise<void> {
  await tx
    .insertInto('organisation_locks')
    .values({ organisation_id: organisationId, version: 1 })
    .onDuplicateKeyUpdate({ version: sql`version + 1` })
    .execute();
}
