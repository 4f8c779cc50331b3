/** Knows what becomes of a response whose gateway is gone: it has failed, once, whoever finds it so. */
import type { Db } from '../../store/connection/db.ts';
import * as responses from '../../store/objects/responses.ts';
import { lostRecord, recordOf } from './response-record.ts';

/** Whether its process gives no sign of life any more. */
export function isLost({ alive_until }: responses.StoredResponse, now: number): boolean {
  return alive_until !== null && alive_until < now;
}

/** Ends one that is lost at `now`; false where it has ended by then, or its process gives signs again. */
export function endLost(db: Db, row: responses.StoredResponse, now: number): Promise<boolean> {
  const { organisation_id: organisationId, workspace_id: workspaceId, id } = row;
  const record = JSON.stringify(lostRecord(recordOf(row)));
  const lost = { status: 'failed' as const, alive_until: null, record };
  return responses.update(db, { organisationId, workspaceId, id }, lost, now);
}
