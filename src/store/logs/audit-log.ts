/** Knows the audit_log table: rows are added in the transaction of the change they record, and read by page. */
import { type RawBuilder, sql } from 'kysely';
import { idToBytes, newId } from '../../model/wire/ids.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { insertion } from '../connection/statement.ts';
import { deploymentId } from '../resources/data-keys.ts';
import * as organisations from '../resources/organisations.ts';
import { countRows } from '../rows/paging.ts';

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
  /** Place in the organisation's chain, from 1; null until the row is sealed. */
  chain_position: number | null;
  /** Id of the row before it in the chain; null for the first, and until the row is sealed. */
  chain_previous: Buffer | null;
  chain_hash: Buffer | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    audit_log: AuditRow;
  }
}

interface AuditEntry {
  /** Given where it may be sent again because the answer was lost: it is there once, and the second one is a duplicate. */
  id?: string;
  /** '' for what belongs to no organisation but to the deployment. */
  organisationId: string;
  workspaceId: string | null;
  at: number;
  actorKind: 'service-account' | 'api-key' | 'user' | 'job' | 'system';
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

/** Whose logs there are: all organisations, and last the deployment, whose id is ''. */
export async function listOwners(db: Db): Promise<string[]> {
  return [...(await organisations.listIds(db)), deploymentId];
}

/** Where a row stands in the order of time. */
export type AuditPlace = Pick<AuditRow, 'at' | 'id'>;

export interface AuditFilter {
  /** Milliseconds since the epoch, both included. */
  readonly from: number;
  readonly to: number;
  /** Values of columns; those undefined are not asked for. */
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
  /** The last row of the page before; null for the first page. */
  readonly before: AuditPlace | null;
}

/** Up to `limit` of an organisation's, newest first, from `offset` on. */
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

/** How many are newer than a row, and no newer than another where that is not null. */
export async function countNewer(
  db: Db,
  organisationId: string,
  filter: Omit<AuditFilter, 'before'>,
  { at, id }: AuditPlace,
  upTo: AuditPlace | null,
): Promise<number> {
  const stretch = { from: at, to: Math.min(filter.to, upTo?.at ?? filter.to) };
  let query = matching(db, organisationId, { ...filter, ...stretch });
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
  let query = db
    .selectFrom('audit_log')
    .where('organisation_id', '=', organisationId)
    .where('at', '>=', from)
    .where('at', '<=', to);
  for (const [column, value] of Object.entries(equal)) {
    if (value !== undefined) query = query.where(sql.ref(column), '=', value);
  }
  return actions === null ? query : query.where('action', 'in', actions);
}

/** Up to `limit` of an organisation's in a stretch of time (milliseconds, both ends included), behind a row; null for the first. */
export async function listOldestFirst(
  db: Db,
  organisationId: string,
  { from, to }: { readonly from: number; readonly to: number },
  after: AuditPlace | null,
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
