/** Knows how a workspace, or an organisation, is held while something is decided about all that it holds. */
import type { Db } from '../connection/db.ts';

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
    const organisation = tx
      .selectFrom('organisations')
      .select('id')
      .where('id', '=', organisationId);
    await organisation.forUpdate().execute();
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
