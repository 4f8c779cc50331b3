/** Knows the usage_holders table: which processes hold parts of budgets, until when, and what becomes of them then. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';

interface UsageHolderRow {
  organisation_id: string;
  holder: Buffer;
  /** Grows with every exchange, so that one whose answer was lost can be told from one that never was. */
  sequence: number;
  /** By the database's clock, milliseconds since the epoch. */
  lease_until: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    usage_holders: UsageHolderRow;
  }
}

/** One process, in one organisation. */
export interface Holder {
  readonly organisationId: string;
  /** 16 random bytes. */
  readonly holder: Buffer;
}

/** Begins to hold, with the first exchange that follows. */
export async function insert(
  tx: Db,
  { organisationId, holder }: Holder,
  leaseMs: number,
): Promise<void> {
  await sql`
    INSERT INTO usage_holders (organisation_id, holder, sequence, lease_until)
    VALUES (${organisationId}, ${holder}, 1, ${serverNowMs} + ${leaseMs})`.execute(tx);
}

/** Renews the lease, for the exchange after `sequence`; false where it was over, and all was charged. */
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

/** The exchange that was carried out last; waits for one that is under way. Null where there was none, or the lease was over. */
export async function findSequence(
  tx: Db,
  { organisationId, holder }: Holder,
): Promise<number | null> {
  const row = await tx
    .selectFrom('usage_holders')
    .select('sequence')
    .where('organisation_id', '=', organisationId)
    .where('holder', '=', holder)
    .forUpdate()
    .executeTakeFirst();
  return row === undefined ? null : Number(row.sequence);
}

/** Those whose lease is over, longest first. */
export function listOverdue(db: Db, limit: number): Promise<Holder[]> {
  return db
    .selectFrom('usage_holders')
    .select(['organisation_id as organisationId', 'holder'])
    .where('lease_until', '<', serverNowMs)
    .orderBy('lease_until')
    .limit(limit)
    .execute();
}

/** Locks a holder, if its lease is still over. */
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
  await tx
    .deleteFrom('usage_holders')
    .where('organisation_id', '=', organisationId)
    .where('holder', '=', holder)
    .execute();
}
