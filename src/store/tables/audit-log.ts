/** Knows the audit_log table: rows are only ever added, in the transaction of the change they record. */
import { idToBytes, newId } from '../../model/ids.ts';
import type { Db } from '../connection/db.ts';

interface AuditRow {
  organisation_id: string;
  at: number;
  id: Buffer;
  workspace_id: string | null;
  actor_kind: string;
  actor_id: string;
  action: string;
  resource_kind: string;
  resource_id: string;
  request_id: string;
  changes: string;
  /** Place in the organisation's hash chain; null where none is kept. */
  chain_position: number | null;
  chain_hash: Buffer | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    audit_log: AuditRow;
  }
}

export interface AuditEntry {
  organisationId: string;
  workspaceId: string | null;
  at: number;
  actorKind: 'service-account' | 'api-key' | 'job' | 'system';
  actorId: string;
  /** Verb in the past is implied: create, update, delete, expire, reset. */
  action: string;
  resourceKind: string;
  resourceId: string;
  requestId: string;
  /** Names of changed fields and other facts; never values of secret type. */
  changes: Record<string, unknown>;
}

/** Adds rows in the transaction of what they record. */
export type AuditTrail = (tx: Db, entries: readonly AuditEntry[]) => Promise<void>;

/** The one place that heeds AUDIT_LOGS_ENABLED: a trail that is off takes entries and writes none. */
export function auditTrail(on: boolean): AuditTrail {
  return async (tx, entries) => {
    if (on && entries.length > 0) await insertMany(tx, entries);
  };
}

async function insertMany(tx: Db, entries: readonly AuditEntry[]): Promise<void> {
  await tx
    .insertInto('audit_log')
    .values(
      entries.map((entry) => ({
        organisation_id: entry.organisationId,
        at: entry.at,
        id: idToBytes(newId()),
        workspace_id: entry.workspaceId,
        actor_kind: entry.actorKind,
        actor_id: entry.actorId,
        action: entry.action,
        resource_kind: entry.resourceKind,
        resource_id: entry.resourceId,
        request_id: entry.requestId,
        changes: JSON.stringify(entry.changes),
        chain_position: null,
        chain_hash: null,
      })),
    )
    .execute();
}
