/** Knows how a workspace, or an organisation, is held while something is decided about all that it holds. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';

declare module '../connection/db.ts' {
  interface Tables {
    organisation_locks: { organisation_id: string; version: number };
  }
}

/**
 * Whoever decides for a whole workspace (null: for the organisation's own resources) does so one
 * after the other from here to the end of the transaction. Call it before rows within are locked, so
 * that two who decide at once wait and do not meet in a deadlock.
 */
export async function hold(
  tx: Db,
  organisationId: string,
  workspaceId: string | null,
): Promise<void> {
  if (workspaceId === null) {
    // Not the organisation's own row: a sharded engine keeps that elsewhere, and where a transaction is
    // on two servers it lets go of one before what it wrote is seen on the other.
    await tx
      .insertInto('organisation_locks')
      .values({ organisation_id: organisationId, version: 1 })
      .onDuplicateKeyUpdate({ version: sql`version + 1` })
      .execute();
    return;
  }
  await tx
    .selectFrom('workspaces')
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where('id', '=', workspaceId)
    .forUpdate()
    .execute();
}
