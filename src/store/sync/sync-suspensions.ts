/** Table functions for sync_suspensions: owners and workspaces that sync does not change, until when, and why. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import { rows } from '../rows/rows.ts';

export interface SyncSuspensionRow {
  organisation_id: string;
  owner: string;
  /** '' for all workspaces of the owner. */
  workspace: string;
  /** By the database's clock, milliseconds since the epoch; null for no end. */
  until: number | null;
  reason: string;
  suspended_by: string;
  suspended_at: number;
  /** Revision restored by a rollback, and its commit; null without a rollback. */
  rolled_back_to: number | null;
  rolled_back_commit: string | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    sync_suspensions: SyncSuspensionRow;
  }
}

const table = rows('sync_suspensions');

/** Maximum number of suspensions of one owner. */
export const suspensionsMax = 1000;

/** With `untilMs` and `forMs` null it lasts until it is ended. */
export interface NewSuspension
  extends Pick<
    SyncSuspensionRow,
    'organisation_id' | 'owner' | 'workspace' | 'reason' | 'suspended_by'
  > {
  readonly untilMs: number | null;
  readonly forMs: number | null;
  /** Undefined retains the value of the suspension it replaces. */
  readonly rolledBackTo: { readonly revision: number; readonly commit: string } | null | undefined;
}

const isActive = sql<boolean>`(until IS NULL OR until > ${serverNowMs})`;

/** Replaces a suspension of the same workspace. */
export async function upsert(tx: Db, suspension: NewSuspension): Promise<void> {
  const { untilMs, forMs, rolledBackTo, ...row } = suspension;
  const rollback = {
    rolled_back_to: rolledBackTo?.revision ?? null,
    rolled_back_commit: rolledBackTo?.commit ?? null,
  };
  const facts = {
    until: forMs === null ? untilMs : sql<number>`${serverNowMs} + ${forMs}`,
    reason: row.reason,
    suspended_by: row.suspended_by,
    suspended_at: serverNowMs,
  };
  await tx
    .insertInto('sync_suspensions')
    .values({ ...row, ...facts, ...rollback })
    .onDuplicateKeyUpdate({ ...facts, ...(rolledBackTo === undefined ? {} : rollback) })
    .execute();
}

/** Deletes suspensions whose end has passed. */
export async function deleteEnded(tx: Db, organisationId: string, owner: string): Promise<void> {
  await ofOwner(tx, organisationId, owner).where('until', '<=', serverNowMs).execute();
}

/** Ends a suspension; returns whether it was active. */
export async function deleteOne(
  tx: Db,
  organisationId: string,
  owner: string,
  workspace: string,
): Promise<boolean> {
  const { numDeletedRows } = await ofOwner(tx, organisationId, owner)
    .where('workspace', '=', workspace)
    .where(isActive)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Active suspensions of the owners, ordered by owner and workspace. */
export async function listActive(
  db: Db,
  organisationId: string,
  owners: readonly string[],
): Promise<SyncSuspensionRow[]> {
  return table
    .matching(db, { organisation_id: organisationId, owner: owners })
    .selectAll()
    .where(isActive)
    .orderBy('owner')
    .orderBy('workspace')
    .execute();
}

export const find = table.findBy('organisation_id', 'owner', 'workspace');

function ofOwner(tx: Db, organisationId: string, owner: string) {
  return tx
    .deleteFrom('sync_suspensions')
    .where('organisation_id', '=', organisationId)
    .where('owner', '=', owner);
}
