/** Knows the data_keys table: what seals the secrets of each organisation, wrapped by a master key. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';

export interface DataKeyRow {
  /** '' for the key of the deployment, which says by its own master key which one is in use. */
  organisation_id: string;
  master_key_id: string;
  wrapped_key: string;
}

declare module '../connection/db.ts' {
  interface Tables {
    data_keys: DataKeyRow;
  }
}

/** Under whose id the key of the deployment lies; first in the order of ids. */
export const deploymentId = '';

export function find(db: Db, organisationId: string): Promise<DataKeyRow | undefined> {
  return db
    .selectFrom('data_keys')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .executeTakeFirst();
}

/** The key of the deployment, where there is none yet. */
export async function insertFirst(
  db: Db,
  row: Pick<DataKeyRow, 'master_key_id' | 'wrapped_key'>,
): Promise<void> {
  await db
    .insertInto('data_keys')
    .ignore()
    .values({ organisation_id: deploymentId, ...row })
    .execute();
}

/**
 * The key of an organisation, where it has none yet and the master key is the one in use; a rotation
 * that is about to use another waits for this, and so finds the key.
 */
export async function insert(db: Db, row: DataKeyRow): Promise<void> {
  await sql`
    INSERT IGNORE INTO data_keys (organisation_id, master_key_id, wrapped_key)
    SELECT ${row.organisation_id}, ${row.master_key_id}, ${row.wrapped_key} FROM data_keys AS own
    WHERE own.organisation_id = ${deploymentId} AND own.master_key_id = ${row.master_key_id}
    LOCK IN SHARE MODE`.execute(db);
}

/** At most `limit` keys under another master key than this, that of the deployment first. */
export function listNotUnder(db: Db, masterKeyId: string, limit: number): Promise<DataKeyRow[]> {
  return db
    .selectFrom('data_keys')
    .selectAll()
    .where('master_key_id', '!=', masterKeyId)
    .orderBy('organisation_id')
    .limit(limit)
    .execute();
}

/** How many keys are under each master key. */
export async function countByMasterKey(db: Db): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('data_keys')
    .select(({ fn }) => ['master_key_id', fn.countAll<string>().as('count')])
    .groupBy('master_key_id')
    .orderBy('master_key_id')
    .execute();
  return new Map(rows.map(({ master_key_id, count }) => [master_key_id, Number(count)]));
}

/**
 * Puts `after` in the place of `before`, which is the same key under another master key. Nothing happens
 * where `before` is there no more, or, for the key of an organisation, where the master key of `after` is
 * not the one in use: a later rotation is not undone by an earlier one.
 */
export async function rewrap(
  db: Db,
  { organisation_id, wrapped_key }: DataKeyRow,
  after: Pick<DataKeyRow, 'master_key_id' | 'wrapped_key'>,
): Promise<void> {
  if (organisation_id === deploymentId) {
    await db
      .updateTable('data_keys')
      .set(after)
      .where('organisation_id', '=', organisation_id)
      .where('wrapped_key', '=', wrapped_key)
      .execute();
    return;
  }
  await sql`
    UPDATE data_keys AS one JOIN data_keys AS own ON own.organisation_id = ${deploymentId}
    SET one.master_key_id = ${after.master_key_id}, one.wrapped_key = ${after.wrapped_key}
    WHERE one.organisation_id = ${organisation_id} AND one.wrapped_key = ${wrapped_key}
      AND own.master_key_id = ${after.master_key_id}`.execute(db);
}
