/** Knows the sync_suspensions table: which owners and workspaces sync leaves alone, until when, and why. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';

export interface SyncSuspensionRow {
  organisation_id: string;
  owner: string;
  /** '' for everything of the owner. */
  workspace: string;
  /** By the database's clock, milliseconds since the epoch; null for no end. */
  until: number | null;
  reason: string;
  suspended_by: string;
  suspended_at: number;
  /** Number of the revision that a rollback has brought back, and its commit; null without one. */
  rolled_back_to: number | null;
  rolled_back_commit: string | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    sync_suspensions: SyncSuspensionRow;
  }
}

/** Suspensions that one owner may have at once. */
export const suspensionsMax = 1000;

/** `untilMs` null and `forMs` null: until it is ended. */
export interface NewSuspension
  extends Pick<
    SyncSuspensionRow,
    'organisation_id' | 'owner' | 'workspace' | 'reason' | 'suspended_by'
  > {
  readonly untilMs: number | null;
  readonly forMs: number | null;
  /** Undefined: as an earlier one has it. */
  readonly rolledBackTo: { readonly revision: number; readonly commit: string } | null | undefined;
}

const lasts = sql<boolean>`(until IS NULL OR until > ${serverNowMs})`;

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

/** Forgets what has ended by itself. */
export async function deleteEnded(tx: Db, organisationId: string, owner: string): Promise<void> {
  await ofOwner(tx, organisationId, owner).where('until', '<=', serverNowMs).execute();
}

/** Whether there was one that had not ended. */
export async function deleteOne(
  tx: Db,
  organisationId: string,
  owner: string,
  workspace: string,
): Promise<boolean> {
  const { numDeletedRows } = await ofOwner(tx, organisationId, owner)
    .where('workspace', '=', workspace)
    .where(lasts)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Those of the owners that have not ended, by owner and workspace. */
export async function listLasting(
  db: Db,
  organisationId: string,
  owners: readonly string[],
): Promise<SyncSuspensionRow[]> {
  if (owners.length === 0) return [];
  return db
    .selectFrom('sync_suspensions')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('owner', 'in', owners)
    .where(lasts)
    .orderBy('owner')
    .orderBy('workspace')
    .execute();
}

export function find(
  db: Db,
  organisationId: string,
  owner: string,
  workspace: string,
): Promise<SyncSuspensionRow | undefined> {
  return db
    .selectFrom('sync_suspensions')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('owner', '=', owner)
    .where('workspace', '=', workspace)
    .executeTakeFirst();
}

function ofOwner(tx: Db, organisationId: string, owner: string) {
  return tx
    .deleteFrom('sync_suspensions')
    .where('organisation_id', '=', organisationId)
    .where('owner', '=', owner);
}
