/** Table functions for sync_revisions and sync_revision_changes: the changes of an owner's newest fifty runs. */
import { sql } from 'kysely';
import { revisionChangesMax, revisionsMax } from '../../model/kinds/sync-record.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import { countRows } from '../rows/paging.ts';
import { atMost } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';

export interface SyncRevisionRow {
  organisation_id: string;
  owner: string;
  number: number;
  commit_id: string;
  source: string;
  ending: string;
  /** Number of changes made. */
  change_count: number;
  /** Number of changes recorded. */
  recorded_count: number;
  /** By the clock of the run, milliseconds since the epoch. */
  started_at: number;
  finished_at: number;
  /** By the database's clock. */
  recorded_at: number;
}

/** Changes of one revision that one request reported. */
interface SyncRevisionChangesRow {
  organisation_id: string;
  owner: string;
  revision: number;
  /** Number of changes before this part. */
  start: number;
  /** JSON list. */
  changes: string;
}

declare module '../connection/db.ts' {
  interface Tables {
    sync_revisions: SyncRevisionRow;
    sync_revision_changes: SyncRevisionChangesRow;
  }
}

const revisions = rows('sync_revisions');
const parts = rows('sync_revision_changes');

export type RevisionKey = Pick<SyncRevisionRow, 'organisation_id' | 'owner' | 'number'>;

/** Consecutive changes as recorded. */
export interface ChangesPart {
  readonly start: number;
  readonly count: number;
  /** JSON list. */
  readonly changes: string;
}

/**
 * Inserts a revision with the owner's next number, which it returns, and deletes the oldest revisions
 * beyond {@link revisionsMax}. Call it in a transaction that holds a lock on the owner's lease, so that
 * no concurrent transaction uses the number.
 */
export async function insertNext(
  tx: Db,
  revision: Omit<SyncRevisionRow, 'number' | 'recorded_at' | 'recorded_count'>,
  first: ChangesPart,
): Promise<number> {
  const { organisation_id, owner } = revision;
  const newest = await revisions.findFirst(
    tx,
    { organisation_id, owner },
    { columns: ['number'], orderBy: ['number desc'] },
  );
  const number = (newest?.number ?? 0) + 1;
  const counts = { recorded_count: first.count, recorded_at: serverNowMs };
  await tx
    .insertInto('sync_revisions')
    .values({ ...revision, number, ...counts })
    .execute();
  if (first.count > 0) await insertPart(tx, { organisation_id, owner, number }, first);
  if (number > revisionsMax) await deleteUpTo(tx, organisation_id, owner, number - revisionsMax);
  return number;
}

/** Records a part. Returns true when it is recorded, even earlier; false when it does not follow the recorded ones. */
export async function append(tx: Db, key: RevisionKey, part: ChangesPart): Promise<boolean> {
  const { start, count } = part;
  const { numUpdatedRows } = await tx
    .updateTable('sync_revisions')
    .set({ recorded_count: start + count })
    .where('organisation_id', '=', key.organisation_id)
    .where('owner', '=', key.owner)
    .where('number', '=', key.number)
    .where('recorded_count', '=', start)
    .where(sql<boolean>`${start + count} <= LEAST(change_count, ${revisionChangesMax})`)
    .executeTakeFirst();
  if (numUpdatedRows > 0n) {
    await insertPart(tx, key, part);
    return true;
  }
  const recorded = await parts.list(tx, { ...partsOf(key), start }, { columns: ['changes'] });
  return recorded.some(({ changes }) => changes === part.changes);
}

export const { find } = revisions.keyedBy('organisation_id', 'owner', 'number');

/** Newest first. */
export async function listRevisions(
  db: Db,
  organisationId: string,
  owner: string,
  page: Page,
): Promise<{ rows: SyncRevisionRow[]; total: number }> {
  const all = revisions.matching(db, { organisation_id: organisationId, owner });
  const found = await all
    .selectAll()
    .orderBy('number', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
  return { rows: found, total: await countRows(all) };
}

/** The newest revision of each owner. */
export async function listNewest(
  db: Db,
  organisationId: string,
  owners: readonly string[],
): Promise<SyncRevisionRow[]> {
  if (owners.length === 0) return [];
  return db
    .selectFrom('sync_revisions')
    .selectAll('sync_revisions')
    .innerJoin(
      (from) =>
        from
          .selectFrom('sync_revisions')
          .select(['owner', sql<number>`MAX(number)`.as('number')])
          .where('organisation_id', '=', organisationId)
          .where('owner', 'in', owners)
          .groupBy('owner')
          .as('newest'),
      (join) =>
        join
          .onRef('newest.owner', '=', 'sync_revisions.owner')
          .onRef('newest.number', '=', 'sync_revisions.number'),
    )
    .where('sync_revisions.organisation_id', '=', organisationId)
    .execute();
}

/** Every recorded change in order; reads one part at a time. */
export async function* changesOf(db: Db, key: RevisionKey): AsyncGenerator<unknown, void> {
  const starts = await parts.list(db, partsOf(key), { columns: ['start'], orderBy: ['start'] });
  for (const { start } of starts) {
    const found = await parts.list(db, { ...partsOf(key), start }, { columns: ['changes'] });
    for (const { changes } of found) yield* JSON.parse(changes) as unknown[];
  }
}

async function insertPart(
  tx: Db,
  key: RevisionKey,
  { start, changes }: ChangesPart,
): Promise<void> {
  await parts.insert(tx, { ...partsOf(key), start, changes });
}

async function deleteUpTo(
  tx: Db,
  organisationId: string,
  owner: string,
  number: number,
): Promise<void> {
  const ofOwner = { organisation_id: organisationId, owner };
  await revisions.delete(tx, { ...ofOwner, number: atMost(number) });
  await parts.delete(tx, { ...ofOwner, revision: atMost(number) });
}

function partsOf({ organisation_id, owner, number }: RevisionKey) {
  return { organisation_id, owner, revision: number };
}
