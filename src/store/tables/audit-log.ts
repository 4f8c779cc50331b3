/** Knows the audit_log table: rows are only ever added, in the transaction of the change they record. */
import { type RawBuilder, sql } from 'kysely';
import { idToBytes, newId } from '../../model/ids.ts';
import type { Db } from '../connection/db.ts';
import { insertion } from '../connection/statement.ts';

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

interface AuditEntry {
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

/** What is told alike of many resources; of each, what its row says. */
export interface AuditSweep
  extends Pick<AuditEntry, 'organisationId' | 'at' | 'actorId' | 'action' | 'resourceKind'> {
  /** FROM … WHERE …: rows with a workspace_id, one for each resource. */
  readonly from: RawBuilder<unknown>;
  /** The column of the resource's id. */
  readonly resourceId: RawBuilder<string>;
  /** The facts, or an expression that yields them as JSON. */
  readonly changes: Record<string, unknown> | RawBuilder<string>;
}

/** As {@link auditTrail}, for jobs: one statement adds a row for each that it finds. */
export function auditSweep(on: boolean): (tx: Db, sweep: AuditSweep) => Promise<void> {
  return async (tx, sweep) => {
    if (on) await insertFrom(tx, sweep);
  };
}

async function insertFrom(tx: Db, sweep: AuditSweep): Promise<void> {
  const { organisationId, at, actorId, action, resourceKind, resourceId, changes } = sweep;
  const facts = 'toOperationNode' in changes ? changes : sql`${JSON.stringify(changes)}`;
  // A UUID of version 7, whose random part is made of what happened to what: at one moment, once.
  const start = `${at.toString(16).padStart(12, '0')}7`;
  const hash = sql`SHA2(CONCAT(${`${action} ${resourceKind} `}, ${resourceId}), 256)`;
  // The variant stands behind three digits of it.
  const id = sql`UNHEX(CONCAT(${start}, INSERT(LEFT(${hash}, 18), 4, 0, '8')))`;
  await sql`
    INSERT INTO audit_log (organisation_id, at, id, workspace_id, actor_kind, actor_id, action,
      resource_kind, resource_id, request_id, changes)
    SELECT ${organisationId}, ${at}, ${id}, workspace_id, 'job', ${actorId}, ${action},
      ${resourceKind}, ${resourceId}, '', ${facts}
    ${sweep.from}`.execute(tx);
}

async function insertMany(tx: Db, entries: readonly AuditEntry[]): Promise<void> {
  const rows = entries.map(rowOf);
  if (rows.length === 1) await insertOne(tx, rows[0]!);
  else await tx.insertInto('audit_log').values(rows).execute();
}

const insertOne = insertion((tx, row: ReturnType<typeof rowOf>) =>
  tx.insertInto('audit_log').values(row),
);

function rowOf(entry: AuditEntry) {
  return {
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
  };
}
