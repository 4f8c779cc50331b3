/** Table functions for usage_holders: the leases of processes that hold slices of limits. */
import { type Generated, type RawBuilder, sql } from 'kysely';
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
  /** 1: keeps a journal on disk, by which a charge for lost slices can be corrected. */
  is_journalled: Generated<number>;
  /** When the usage of a process that ended was settled by its journal. */
  settled_at: Generated<number | null>;
  /** Answer of the last exchange as JSON, for holders that request it again. */
  answer: Generated<string | null>;
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
  /** Whether it keeps a journal of its usage on disk. */
  readonly isJournalled?: boolean;
}

/** Registers a process before its first exchange; false when it is registered, by an attempt whose answer was lost. */
export async function insert(
  tx: Db,
  { organisationId, holder, isJournalled = false }: Holder,
  leaseMs: number,
): Promise<boolean> {
  const result = await sql`
    INSERT IGNORE INTO usage_holders (organisation_id, holder, sequence, lease_until, is_journalled)
    VALUES (${organisationId}, ${holder}, 1, ${serverNowMs} + ${leaseMs},
      ${Number(isJournalled)})`.execute(tx);
  return result.numAffectedRows === 1n;
}

/** How an exchange found the lease of its holder. */
export type Renewal = 'renewed' | 'ended' | 'lost';

/**
 * Renews the lease for the exchange after `sequence`. A lease that had ended is renewed too, but some slices may have been
 * charged: `'ended'`. `'lost'` when the holder is missing, settled or at another exchange.
 */
export async function renew(
  tx: Db,
  { organisationId, holder }: Holder,
  sequence: number,
  leaseMs: number,
): Promise<Renewal> {
  const renewWhere = async (lease: RawBuilder<unknown>): Promise<boolean> => {
    const result = await sql`
      UPDATE usage_holders SET sequence = ${sequence + 1}, lease_until = ${serverNowMs} + ${leaseMs}
      WHERE organisation_id = ${organisationId} AND holder = ${holder}
        AND sequence = ${sequence} AND settled_at IS NULL ${lease}`.execute(tx);
    return result.numAffectedRows === 1n;
  };
  if (await renewWhere(sql`AND lease_until >= ${serverNowMs}`)) return 'renewed';
  return (await renewWhere(sql``)) ? 'ended' : 'lost';
}

/** The stored answer of the exchange with a number; null when the last exchange has another number or no answer. */
export async function findAnswer(
  tx: Db,
  { organisationId, holder }: Holder,
  sequence: number,
): Promise<string | null> {
  const row = await table.findForUpdate(tx, { organisation_id: organisationId, holder });
  return row !== undefined && Number(row.sequence) === sequence ? row.answer : null;
}

export async function keepAnswer(
  tx: Db,
  { organisationId, holder }: Holder,
  answer: string,
): Promise<void> {
  await table.update(tx, { organisation_id: organisationId, holder }, { answer });
}

/**
 * Locks a holder whose usage is to be settled, and adds it when it does not exist, so that two transactions never settle
 * it at once. `sequence` is null for one that has exchanged nothing, or whose row is gone.
 */
export async function lockToSettle(
  tx: Db,
  { organisationId, holder }: Holder,
): Promise<{ readonly sequence: number | null; readonly isSettled: boolean }> {
  // Takes an exclusive lock of an existing row; INSERT IGNORE takes a shared one, which would deadlock in the update.
  await sql`
    INSERT INTO usage_holders (organisation_id, holder, sequence, lease_until, is_journalled)
    VALUES (${organisationId}, ${holder}, 0, ${serverNowMs}, 1)
    ON DUPLICATE KEY UPDATE holder = VALUES(holder)`.execute(tx);
  const row = await table.findForUpdate(tx, { organisation_id: organisationId, holder });
  const sequence = Number(row!.sequence);
  return { sequence: sequence === 0 ? null : sequence, isSettled: row!.settled_at !== null };
}

/** Marks a holder as settled. */
export async function markSettled(tx: Db, { organisationId, holder }: Holder): Promise<void> {
  await sql`
    UPDATE usage_holders SET settled_at = ${serverNowMs}
    WHERE organisation_id = ${organisationId} AND holder = ${holder}`.execute(tx);
}

/** Number of processes of an organisation that have a lease, and how many of them come before this one. */
export async function countWithRank(
  tx: Db,
  { organisationId, holder }: Holder,
): Promise<{ readonly holders: number; readonly rank: number }> {
  const { rows } = await sql<{ holders: number | string; rank_of: number | string | null }>`
    SELECT COUNT(*) AS holders, SUM(holder < ${holder}) AS rank_of FROM usage_holders
    WHERE organisation_id = ${organisationId} AND lease_until >= ${serverNowMs}`.execute(tx);
  const { holders, rank_of: rank } = rows[0]!;
  return { holders: Number(holders), rank: Number(rank ?? 0) };
}

/** Most processes that have a lease in one organisation. */
export async function countMost(db: Db): Promise<number> {
  const { rows } = await sql<{ holders: number | string }>`
    SELECT COUNT(*) AS holders FROM usage_holders WHERE lease_until >= ${serverNowMs}
    GROUP BY organisation_id ORDER BY holders DESC LIMIT 1`.execute(db);
  return Number(rows[0]?.holders ?? 0);
}

/** The last exchange; waits for one in progress. Null when there was none, or the lease has expired. */
export async function findSequence(
  tx: Db,
  { organisationId, holder }: Holder,
): Promise<number | null> {
  const row = await table.findForUpdate(tx, { organisation_id: organisationId, holder });
  return row === undefined ? null : Number(row.sequence);
}

/** How long the row of a dead process with a journal is kept, so that its journal is settled once. */
const journalDaysMs = 31 * 86_400_000;

/** A holder whose lease has ended. */
export interface OverdueHolder extends Holder {
  /** Whether its row stays, because its journal may be settled later. */
  readonly isJournalled: boolean;
}

/**
 * Holders of any organisation with an expired lease and either no slice or one whose own lease has ended too, the longest
 * expired first.
 */
export async function listOverdue(db: Db, limit: number): Promise<Holder[]> {
  const sliceOf = sql`FROM usage_slices s WHERE s.organisation_id = h.organisation_id
    AND s.holder = h.holder AND s.charged_at IS NULL`;
  const { rows } = await sql<Holder>`
    SELECT h.organisation_id AS organisationId, h.holder FROM usage_holders h
    WHERE h.lease_until < ${serverNowMs}
      AND (EXISTS (SELECT 1 ${sliceOf} AND COALESCE(s.lease_until, 0) < ${serverNowMs})
        OR ((h.is_journalled = 0 OR h.lease_until < ${serverNowMs} - ${journalDaysMs})
          AND NOT EXISTS (SELECT 1 ${sliceOf})))
    ORDER BY h.lease_until LIMIT ${limit}`.execute(db);
  return rows;
}

/** Locks a holder; null when its lease has been renewed. */
export async function lockOverdue(
  tx: Db,
  { organisationId, holder }: Holder,
): Promise<OverdueHolder | null> {
  const row = await tx
    .selectFrom('usage_holders')
    .select([
      'is_journalled',
      sql<number>`lease_until < ${serverNowMs} - ${journalDaysMs}`.as('isOld'),
    ])
    .where('organisation_id', '=', organisationId)
    .where('holder', '=', holder)
    .where('lease_until', '<', serverNowMs)
    .forUpdate()
    .executeTakeFirst();
  return row === undefined
    ? null
    : { organisationId, holder, isJournalled: row.is_journalled === 1 && Number(row.isOld) === 0 };
}

export async function deleteOne(tx: Db, { organisationId, holder }: Holder): Promise<void> {
  await table.delete(tx, { organisation_id: organisationId, holder });
}
