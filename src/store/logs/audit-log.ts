/** Table functions for audit_log. Entries are inserted in the transaction of the change that they record. */
import { type RawBuilder, sql } from 'kysely';
import { idToBytes, newId } from '../../model/wire/ids.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { deploymentId } from '../resources/data-keys.ts';
import * as organisations from '../resources/organisations.ts';
import { countRows } from '../rows/paging.ts';
import { rows } from '../rows/rows.ts';

export interface AuditRow {
  organisation_id: string;
  /** Milliseconds since the epoch. */
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
  /** Position in the organisation's hash chain, from 1; null until the row is sealed. */
  chain_position: number | null;
  /** Id of the previous row in the chain; null for the first row, and until the row is sealed. */
  chain_previous: Buffer | null;
  chain_hash: Buffer | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    audit_log: AuditRow;
  }
}

const table = rows('audit_log');

interface AuditEntry {
  /** Set when the insert may be repeated after a lost response: a repetition is rejected as a duplicate. */
  id?: string;
  /** '' for entries of the deployment. */
  organisationId: string;
  workspaceId: string | null;
  at: number;
  actorKind: 'service-account' | 'api-key' | 'user' | 'job' | 'system';
  actorId: string;
  /** Verb: create, update, delete, expire, reset. */
  action: string;
  resourceKind: string;
  resourceId: string;
  requestId: string;
  /** Names of changed fields and other facts; never secret values. */
  changes: Record<string, unknown>;
}

/** Inserts entries in the transaction of the change that they record. */
export type AuditTrail = (tx: Db, entries: readonly AuditEntry[]) => Promise<void>;

/** Implements AUDIT_LOGS_ENABLED: a disabled trail accepts entries and writes none. */
export function auditTrail(on: boolean): AuditTrail {
  return async (tx, entries) => {
    if (on && entries.length > 0) await insertMany(tx, entries);
  };
}

/** One kind of change to many resources; the facts of each come from its row. */
export interface AuditSweep
  extends Pick<AuditEntry, 'organisationId' | 'at' | 'actorId' | 'action' | 'resourceKind'> {
  /** `FROM … WHERE …`: one row with a workspace_id for each resource. */
  readonly from: RawBuilder<unknown>;
  /** Column with the resource's id. */
  readonly resourceId: RawBuilder<string>;
  /** Facts, or an expression that returns them as JSON. */
  readonly changes: Record<string, unknown> | RawBuilder<string>;
}

/** As {@link auditTrail}, for jobs: one statement inserts an entry for each row that it selects. */
export function auditSweep(on: boolean): (tx: Db, sweep: AuditSweep) => Promise<void> {
  return async (tx, sweep) => {
    if (on) await insertFrom(tx, sweep);
  };
}

async function insertFrom(tx: Db, sweep: AuditSweep): Promise<void> {
  const { organisationId, at, actorId, action, resourceKind, resourceId, changes } = sweep;
  const facts = 'toOperationNode' in changes ? changes : sql`${JSON.stringify(changes)}`;
  // A UUID v7 whose random part is a hash of action and resource, so that a repetition is a duplicate.
  const start = `${at.toString(16).padStart(12, '0')}7`;
  const hash = sql`SHA2(CONCAT(${`${action} ${resourceKind} `}, ${resourceId}), 256)`;
  // The variant digit follows three digits of the hash.
  const id = sql`UNHEX(CONCAT(${start}, INSERT(LEFT(${hash}, 18), 4, 0, '8')))`;
  await sql`
    INSERT INTO audit_log (organisation_id, at, id, workspace_id, actor_kind, actor_id, action,
      resource_kind, resource_id, request_id, changes)
    SELECT ${organisationId}, ${at}, ${id}, workspace_id, 'job', ${actorId}, ${action},
      ${resourceKind}, ${resourceId}, '', ${facts}
    ${sweep.from}`.execute(tx);
}

async function insertMany(tx: Db, entries: readonly AuditEntry[]): Promise<void> {
  const [first, ...others] = entries.map(rowOf);
  if (others.length === 0) await table.insert(tx, first!);
  else await table.insertMany(tx, [first!, ...others]);
}

function rowOf(entry: AuditEntry) {
  return {
    organisation_id: entry.organisationId,
    at: entry.at,
    id: idToBytes(entry.id ?? newId()),
    workspace_id: entry.workspaceId,
    actor_kind: entry.actorKind,
    actor_id: entry.actorId,
    action: entry.action,
    resource_kind: entry.resourceKind,
    resource_id: entry.resourceId,
    request_id: entry.requestId,
    changes: JSON.stringify(entry.changes),
    chain_position: null,
    chain_previous: null,
    chain_hash: null,
  };
}

/** Ids of everything that has an audit log: all organisations, then the deployment (''). */
export async function listOwners(db: Db): Promise<string[]> {
  return [...(await organisations.listIds(db)), deploymentId];
}

/** Position of a row in the order of time. */
export type AuditPosition = Pick<AuditRow, 'at' | 'id'>;

export interface AuditFilter {
  /** Milliseconds since the epoch, both included. */
  readonly from: number;
  readonly to: number;
  /** Values by column; an undefined value matches every row. */
  readonly equal: Readonly<
    Partial<
      Record<
        'workspace_id' | 'actor_kind' | 'actor_id' | 'resource_kind' | 'resource_id' | 'request_id',
        string | undefined
      >
    >
  >;
  /** Any of these; null for all. */
  readonly actions: readonly string[] | null;
  /** The last row of the previous page; null for the first page. */
  readonly before: AuditPosition | null;
}

/** Up to `limit` rows of an organisation, newest first, from `offset` on. */
export async function list(
  db: Db,
  organisationId: string,
  filter: AuditFilter,
  { limit, offset }: Page,
): Promise<AuditRow[]> {
  const { before } = filter;
  let query = matching(db, organisationId, {
    ...filter,
    to: Math.min(filter.to, before?.at ?? filter.to),
  }).selectAll();
  if (before !== null) {
    const { at, id } = before;
    query = query.where((eb) => eb.or([eb('at', '<', at), eb('id', '<', id)]));
  }
  query = query.orderBy('at', 'desc').orderBy('id', 'desc').limit(limit);
  return await (offset === 0 ? query : query.offset(offset)).execute();
}

/** Number of rows newer than one row and, unless null, not newer than another. */
export async function countNewer(
  db: Db,
  organisationId: string,
  filter: Omit<AuditFilter, 'before'>,
  { at, id }: AuditPosition,
  upTo: AuditPosition | null,
): Promise<number> {
  const bounds = { from: at, to: Math.min(filter.to, upTo?.at ?? filter.to) };
  let query = matching(db, organisationId, { ...filter, ...bounds });
  query = query.where((eb) => eb.or([eb('at', '>', at), eb('id', '>', id)]));
  if (upTo !== null) {
    query = query.where((eb) => eb.or([eb('at', '<', upTo.at), eb('id', '<=', upTo.id)]));
  }
  return countRows(query);
}

function matching(
  db: Db,
  organisationId: string,
  { from, to, equal, actions }: Omit<AuditFilter, 'before'>,
) {
  const query = table
    .matching(db, { organisation_id: organisationId, ...equal })
    .where('at', '>=', from)
    .where('at', '<=', to);
  return actions === null ? query : query.where('action', 'in', actions);
}

/** Up to `limit` rows within inclusive bounds in milliseconds, oldest first, after a row; null starts at the first. */
export async function listOldestFirst(
  db: Db,
  organisationId: string,
  { from, to }: { readonly from: number; readonly to: number },
  after: AuditPosition | null,
  limit: number,
): Promise<AuditRow[]> {
  let query = db
    .selectFrom('audit_log')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('at', '>=', Math.max(from, after?.at ?? 0))
    .where('at', '<=', to);
  if (after !== null) {
    query = query.where((eb) => eb.or([eb('at', '>', after.at), eb('id', '>', after.id)]));
  }
  return await query.orderBy('at').orderBy('id').limit(limit).execute();
}
