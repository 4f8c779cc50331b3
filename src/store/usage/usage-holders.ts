/** Table functions for usage_holders: the leases of processes that hold slices of limits. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import { rows } from '../rows/rows.ts';

interface UsageHolderRow {
  organisation_id: string;
  holder: Buffer;
  /** Incremented by every exchange, which shows whether an exchange with a lost response was carried out. */
  sequence: number;
  /** By the database's clock, milliseconds since the epoch. */
  lease_until: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    usage_holders: UsageHolderRow;
  }
}

const table = rows('usage_holders');

/** A process in one organisation. */
export interface Holder {
  readonly organisationId: string;
  /** 16 random bytes. */
  readonly holder: Buffer;
}

/** Registers a process before its first exchange. */
export async function insert(
  tx: Db,
  { organisationId, holder }: Holder,
  leaseMs: number,
): Promise<void> {
  await sql`
    INSERT INTO usage_holders (organisation_id, holder, sequence, lease_until)
    VALUES (${organisationId}, ${holder}, 1, ${serverNowMs} + ${leaseMs})`.execute(tx);
}

/** Renews the lease for the exchange after `sequence`; returns false when it expired and its slices were charged. */
export async function renew(
  tx: Db,
  { organisationId, holder }: Holder,
  sequence: number,
  leaseMs: number,
): Promise<boolean> {
  const result = await sql`
    UPDATE usage_holders SET sequence = ${sequence + 1}, lease_until = ${serverNowMs} + ${leaseMs}
    WHERE organisation_id = ${organisationId} AND holder = ${holder}
      AND sequence = ${sequence}`.execute(tx);
  return result.numAffectedRows === 1n;
}

/** The last exchange; waits for one in progress. Null when there was none, or the lease has expired. */
export async function findSequence(
  tx: Db,
  { organisationId, holder }: Holder,
): Promise<number | null> {
  const row = await table.findForUpdate(tx, { organisation_id: organisationId, holder });
  return row === undefined ? null : Number(row.sequence);
}

/** Holders of any organisation with an expired lease, the longest expired first. */
export function listOverdue(db: Db, limit: number): Promise<Holder[]> {
  return db
    .selectFrom('usage_holders')
    .select(['organisation_id as organisationId', 'holder'])
    .where('lease_until', '<', serverNowMs)
    .orderBy('lease_until')
    .limit(limit)
    .execute();
}

/** Locks a holder; returns false when its lease has been renewed. */
export async function lockOverdue(tx: Db, { organisationId, holder }: Holder): Promise<boolean> {
  const row = await tx
    .selectFrom('usage_holders')
    .select('sequence')
    .where('organisation_id', '=', organisationId)
    .where('holder', '=', holder)
    .where('lease_until', '<', serverNowMs)
    .forUpdate()
    .executeTakeFirst();
  return row !== undefined;
}

export async function deleteOne(tx: Db, { organisationId, holder }: Holder): Promise<void> {
  await table.delete(tx, { organisation_id: organisationId, holder });
}
