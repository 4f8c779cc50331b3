/** Table functions for data_keys: the keys that seal each organisation's secrets, wrapped by a master key. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { not } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';

export interface DataKeyRow {
  /** '' for the deployment's key, whose master key is the one in use. */
  organisation_id: string;
  master_key_id: string;
  wrapped_key: string;
}

declare module '../connection/db.ts' {
  interface Tables {
    data_keys: DataKeyRow;
  }
}

/** Id of the deployment's key; sorts before every organisation. */
export const deploymentId = '';

const table = rows('data_keys');

export const find = table.findBy('organisation_id');

/** Inserts the deployment's key unless it exists. */
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
 * Inserts the key of an organisation unless it exists or its master key is no longer in use. A rotation
 * to another master key waits for this statement, and so rewraps the new key too.
 */
export async function insert(db: Db, row: DataKeyRow): Promise<void> {
  await sql`
    INSERT IGNORE INTO data_keys (organisation_id, master_key_id, wrapped_key)
    SELECT ${row.organisation_id}, ${row.master_key_id}, ${row.wrapped_key} FROM data_keys AS own
    WHERE own.organisation_id = ${deploymentId} AND own.master_key_id = ${row.master_key_id}
    LOCK IN SHARE MODE`.execute(db);
}

/** Up to `limit` keys that another master key wraps, the deployment's key first. */
export function listNotUnder(db: Db, masterKeyId: string, limit: number): Promise<DataKeyRow[]> {
  return table.listAnywhere(
    db,
    { master_key_id: not(masterKeyId) },
    { orderBy: ['organisation_id'], limit },
  );
}

/** Number of keys by master key. */
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
 * Replaces a wrapped key by the same key under another master key. Does nothing when the key has changed
 * since it was read, or when the master key of an organisation's key is not the one in use: an earlier
 * rotation cannot undo a later one.
 */
export async function rewrap(
  db: Db,
  { organisation_id, wrapped_key }: DataKeyRow,
  after: Pick<DataKeyRow, 'master_key_id' | 'wrapped_key'>,
): Promise<void> {
  if (organisation_id === deploymentId) {
    await table.update(db, { organisation_id, wrapped_key }, after);
    return;
  }
  await sql`
    UPDATE data_keys AS one JOIN data_keys AS own ON own.organisation_id = ${deploymentId}
    SET one.master_key_id = ${after.master_key_id}, one.wrapped_key = ${after.wrapped_key}
    WHERE one.organisation_id = ${organisation_id} AND one.wrapped_key = ${wrapped_key}
      AND own.master_key_id = ${after.master_key_id}`.execute(db);
}
