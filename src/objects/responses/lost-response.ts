/** Marks a response as failed when the process that produced it is gone. */
import type { Db } from '../../store/connection/db.ts';
import * as responses from '../../store/objects/responses.ts';
import { lostRecord, parseRecord } from './response-record.ts';

/** Whether the process has stopped renewing the response. */
export function isLostResponse({ alive_until }: responses.StoredResponse, now: number): boolean {
  return alive_until !== null && alive_until < now;
}

/** Fails a response that is lost at `now`; false if it ended or was renewed meanwhile. */
export function failLostResponse(
  db: Db,
  row: responses.StoredResponse,
  now: number,
): Promise<boolean> {
  const { organisation_id: organisationId, workspace_id: workspaceId, id } = row;
  const record = JSON.stringify(lostRecord(parseRecord(row)));
  const lost = { status: 'failed' as const, alive_until: null, record };
  return responses.update(db, { organisationId, workspaceId, id }, lost, now);
}
