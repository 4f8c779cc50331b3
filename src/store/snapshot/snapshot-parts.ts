/** Table functions for snapshot_parts: sealed bytes under their SHA-256, which never change. */

import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';

interface SnapshotPartRow {
  /** '' for bytes of the deployment. */
  organisation_id: string;
  etag: Buffer;
  body: Buffer;
  /** When it may be deleted unless the newest snapshot names it; null while it does. */
  garbage_after: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    snapshot_parts: SnapshotPartRow;
  }
}

export interface PartAddress {
  /** '' for bytes of the deployment. */
  readonly organisationId: string;
  readonly etag: Buffer;
}

export interface StoredPart extends PartAddress {
  readonly body: Buffer;
}

const statementBytesMax = 1_000_000;
const listedMax = 500;

/** Garbage until {@link retain} names them: a process may end before it publishes them. */
export async function insertUnconfirmed(
  db: Db,
  parts: readonly StoredPart[],
  graceMs: number,
): Promise<void> {
  for (const slice of slicesOf(parts)) {
    await db
      .insertInto('snapshot_parts')
      .values(
        slice.map(({ organisationId, etag, body }) => ({
          organisation_id: organisationId,
          etag,
          body,
          garbage_after: sql<number>`${serverNowMs} + ${graceMs}`,
        })),
      )
      .execute();
  }
}

function* slicesOf(parts: readonly StoredPart[]): Generator<StoredPart[]> {
  let slice: StoredPart[] = [];
  let bytes = 0;
  for (const part of parts) {
    if (slice.length > 0 && bytes + part.body.length > statementBytesMax) {
      yield slice;
      slice = [];
      bytes = 0;
    }
    slice.push(part);
    bytes += part.body.length;
  }
  if (slice.length > 0) yield slice;
}

/** Keeps published parts. */
export async function retain(db: Db, organisationId: string, etags: readonly Buffer[]) {
  for (let at = 0; at < etags.length; at += listedMax) {
    await db
      .updateTable('snapshot_parts')
      .set({ garbage_after: null })
      .where('organisation_id', '=', organisationId)
      .where('etag', 'in', etags.slice(at, at + listedMax))
      .execute();
  }
}

/** Lets replaced parts be deleted after a grace period, in which readers of the previous snapshot end. */
export async function discard(
  db: Db,
  organisationId: string,
  etags: readonly Buffer[],
  graceMs: number,
) {
  for (let at = 0; at < etags.length; at += listedMax) {
    await db
      .updateTable('snapshot_parts')
      .set({ garbage_after: sql<number>`${serverNowMs} + ${graceMs}` })
      .where('organisation_id', '=', organisationId)
      .where('etag', 'in', etags.slice(at, at + listedMax))
      .where('garbage_after', 'is', null)
      .execute();
  }
}

/** Parts whose grace period has passed, up to a few hundred. Some may have been published meanwhile. */
export async function listDiscarded(db: Db): Promise<PartAddress[]> {
  const found = await db
    .selectFrom('snapshot_parts')
    .select(['organisation_id', 'etag'])
    .where('garbage_after', '<', serverNowMs)
    .limit(listedMax)
    .execute();
  return found.map(({ organisation_id, etag }) => ({ organisationId: organisation_id, etag }));
}

/** Deletes parts whose grace period has passed. */
export async function deleteDiscarded(
  db: Db,
  organisationId: string,
  etags: readonly Buffer[],
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('snapshot_parts')
    .where('organisation_id', '=', organisationId)
    .where('etag', 'in', etags)
    .where('garbage_after', '<', serverNowMs)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** The parts that exist, in any order. */
export async function list(db: Db, addresses: readonly PartAddress[]): Promise<StoredPart[]> {
  const found: StoredPart[] = [];
  for (let at = 0; at < addresses.length; at += listedMax) {
    const some = addresses.slice(at, at + listedMax);
    const rows = await db
      .selectFrom('snapshot_parts')
      .select(['organisation_id', 'etag', 'body'])
      .where('organisation_id', 'in', [...new Set(some.map((one) => one.organisationId))])
      .where(
        'etag',
        'in',
        some.map(({ etag }) => etag),
      )
      .execute();
    for (const { organisation_id, etag, body } of rows) {
      found.push({ organisationId: organisation_id, etag, body });
    }
  }
  return found;
}
