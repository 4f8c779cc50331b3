/** Table functions for snapshot_heads: the head of the sealed snapshot, and the lease of the process that builds it. */
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';

interface SnapshotHeadRow {
  name: string;
  holder: string;
  /** Incremented by each new holder, so that the writes of an earlier one have no effect. */
  fence: number;
  /** By the clock of the database. */
  lease_until: number;
  /** Incremented by each new head. */
  sequence: number;
  /** SHA-256 of the body; null before the first head. */
  etag: Buffer | null;
  body: Buffer | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    snapshot_heads: SnapshotHeadRow;
  }
}

const name = 'head';

export interface PublishedHead {
  readonly etag: Buffer;
  readonly body: Buffer;
}

/** The right to publish heads, and the head at the time when it was acquired. */
export interface HeadLease {
  readonly holder: string;
  readonly fence: number;
  readonly sequence: number;
  readonly head: PublishedHead | null;
}

/** Null while another process holds the lease. */
export async function acquire(db: Db, holder: string, leaseMs: number): Promise<HeadLease | null> {
  const first = { name, holder: '', fence: 0, lease_until: 0, sequence: 0, etag: null, body: null };
  await db.insertInto('snapshot_heads').ignore().values(first).execute();
  const { numUpdatedRows } = await db
    .updateTable('snapshot_heads')
    .set({
      holder,
      fence: sql<number>`fence + 1`,
      lease_until: sql<number>`${serverNowMs} + ${leaseMs}`,
    })
    .where('name', '=', name)
    .where((is) => is.or([is('lease_until', '<', serverNowMs), is('holder', '=', holder)]))
    .executeTakeFirst();
  if (numUpdatedRows !== 1n) return null;
  const row = await find(db);
  return row === undefined || row.holder !== holder
    ? null
    : { holder, fence: row.fence, sequence: row.sequence, head: headOf(row) };
}

function find(db: Db): Promise<SnapshotHeadRow | undefined> {
  return db.selectFrom('snapshot_heads').selectAll().where('name', '=', name).executeTakeFirst();
}

function headOf({ etag, body }: Pick<SnapshotHeadRow, 'etag' | 'body'>): PublishedHead | null {
  return etag === null || body === null ? null : { etag, body };
}

type OwnLease = Pick<HeadLease, 'holder' | 'fence'>;

/** False when another process has taken the lease over. */
export async function renew(
  db: Db,
  { holder, fence }: OwnLease,
  leaseMs: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('snapshot_heads')
    .set({ lease_until: sql<number>`${serverNowMs} + ${leaseMs}` })
    .where('name', '=', name)
    .where('holder', '=', holder)
    .where('fence', '=', fence)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Lets another process acquire the lease at once. */
export async function release(db: Db, { holder, fence }: OwnLease): Promise<void> {
  await db
    .updateTable('snapshot_heads')
    .set({ lease_until: 0 })
    .where('name', '=', name)
    .where('holder', '=', holder)
    .where('fence', '=', fence)
    .execute();
}

/**
 * Replaces the head, in one statement. False, and nothing is changed, when the lease has ended or was
 * taken over, or when another head was published since `sequence`.
 */
export async function publish(
  db: Db,
  { holder, fence, sequence }: Omit<HeadLease, 'head'>,
  { etag, body }: PublishedHead,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('snapshot_heads')
    .set({ sequence: sequence + 1, etag, body })
    .where('name', '=', name)
    .where('holder', '=', holder)
    .where('fence', '=', fence)
    .where('sequence', '=', sequence)
    .where('lease_until', '>', serverNowMs)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** The state of the snapshot, for gateways. */
export interface HeadReading {
  /** Null before the first head. */
  readonly etag: Buffer | null;
  /** Null when the head is the known one. */
  readonly body: Buffer | null;
  /** Whether changes of any organisation are not yet in the head. */
  readonly hasPending: boolean;
  /** Time of the database. */
  readonly now: number;
}

interface HeadStateRow {
  etag: Buffer | null;
  body: Buffer | null;
  has_pending: number;
  now: number;
}

/** The query of {@link readHead}, for use within another one. */
export function headState(known: Buffer | null): RawBuilder<HeadStateRow> {
  return sql<HeadStateRow>`
    SELECT etag, IF(etag <=> ${known}, NULL, body) AS body, ${serverNowMs} AS now,
      (EXISTS (SELECT 1 FROM snapshot_marks WHERE is_built = 0 LIMIT 1)
        OR EXISTS (SELECT 1 FROM people_marks WHERE is_built = 0 LIMIT 1)) AS has_pending
    FROM snapshot_heads WHERE name = ${name}`;
}

/** One query, whatever the number of organisations; `known` is the etag of the caller's head. */
export async function readHead(db: Db, known: Buffer | null): Promise<HeadReading> {
  const { rows } = await headState(known).execute(db);
  const [row] = rows;
  if (row === undefined) return { etag: null, body: null, hasPending: true, now: 0 };
  return { etag: row.etag, body: row.body, hasPending: row.has_pending === 1, now: row.now };
}
