/** Knows the sync_revisions and sync_revision_changes tables: what each run of an owner changed, the newest fifty. */
import { sql } from 'kysely';
import { revisionChangesMax, revisionsMax } from '../../model/kinds/sync-record.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import { countRows } from '../rows/paging.ts';

export interface SyncRevisionRow {
  organisation_id: string;
  owner: string;
  number: number;
  commit_id: string;
  source: string;
  ending: string;
  /** All that were made. */
  change_count: number;
  /** Those of them that are kept. */
  recorded_count: number;
  /** By the clock of the run, milliseconds since the epoch. */
  started_at: number;
  finished_at: number;
  /** By the database's clock. */
  recorded_at: number;
}

/** Changes of one revision that one request told. */
interface SyncRevisionChangesRow {
  organisation_id: string;
  owner: string;
  revision: number;
  /** How many changes come before. */
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

export type RevisionKey = Pick<SyncRevisionRow, 'organisation_id' | 'owner' | 'number'>;

/** Some changes as they are kept. */
export interface ChangesPart {
  readonly start: number;
  readonly count: number;
  /** JSON list. */
  readonly changes: string;
}

/**
 * Gives the revision the owner's next number, yields it, and forgets the oldest beyond those that are
 * kept. Call it in a transaction that has locked the owner's lease, so that nobody else takes the number.
 */
export async function insertNext(
  tx: Db,
  revision: Omit<SyncRevisionRow, 'number' | 'recorded_at' | 'recorded_count'>,
  first: ChangesPart,
): Promise<number> {
  const { organisation_id, owner } = revision;
  const newest = await ofOwner(tx, organisation_id, owner)
    .select('number')
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst();
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

/** True once the part is kept, also from before; false where it does not follow what is kept. */
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
  const kept = await partsOf(tx, key).select('changes').where('start', '=', start).execute();
  return kept.some(({ changes }) => changes === part.changes);
}

export function find(db: Db, key: RevisionKey): Promise<SyncRevisionRow | undefined> {
  return ofOwner(db, key.organisation_id, key.owner)
    .selectAll()
    .where('number', '=', key.number)
    .executeTakeFirst();
}

/** Newest first. */
export async function listPage(
  db: Db,
  organisationId: string,
  owner: string,
  page: Page,
): Promise<{ rows: SyncRevisionRow[]; total: number }> {
  const all = ofOwner(db, organisationId, owner);
  const rows = await all
    .selectAll()
    .orderBy('number', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
  return { rows, total: await countRows(all) };
}

/** The newest of each of the owners. */
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

/** Every change that is kept, each as it was told, in order; a part is read when it is asked for. */
export async function* changesOf(db: Db, key: RevisionKey): AsyncGenerator<unknown, void> {
  const starts = await partsOf(db, key).select('start').orderBy('start').execute();
  for (const { start } of starts) {
    const parts = await partsOf(db, key).select('changes').where('start', '=', start).execute();
    for (const { changes } of parts) yield* JSON.parse(changes) as unknown[];
  }
}

async function insertPart(tx: Db, key: RevisionKey, part: ChangesPart): Promise<void> {
  const { organisation_id, owner, number: revision } = key;
  const { start, changes } = part;
  await tx
    .insertInto('sync_revision_changes')
    .values({ organisation_id, owner, revision, start, changes })
    .execute();
}

async function deleteUpTo(
  tx: Db,
  organisationId: string,
  owner: string,
  number: number,
): Promise<void> {
  await tx
    .deleteFrom('sync_revisions')
    .where('organisation_id', '=', organisationId)
    .where('owner', '=', owner)
    .where('number', '<=', number)
    .execute();
  await tx
    .deleteFrom('sync_revision_changes')
    .where('organisation_id', '=', organisationId)
    .where('owner', '=', owner)
    .where('revision', '<=', number)
    .execute();
}

function ofOwner(db: Db, organisationId: string, owner: string) {
  return db
    .selectFrom('sync_revisions')
    .where('organisation_id', '=', organisationId)
    .where('owner', '=', owner);
}

function partsOf(db: Db, { organisation_id, owner, number }: RevisionKey) {
  return db
    .selectFrom('sync_revision_changes')
    .where('organisation_id', '=', organisation_id)
    .where('owner', '=', owner)
    .where('revision', '=', number);
}
