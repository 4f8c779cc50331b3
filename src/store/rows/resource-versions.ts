/** Stores the contents of a resource's latest hundred versions, numbered from 1. */
import { type Insertable, type Kysely, type RawBuilder, sql } from 'kysely';
import { idToBytes } from '../../model/wire/ids.ts';
import type { Db, Tables } from '../connection/db.ts';

const versionsMax = 100;

/** Columns of every version table, apart from the content. Ids are bytes. */
export interface VersionRow {
  organisation_id: string;
  resource_id: Buffer;
  number: number;
  id: Buffer;
  name: string;
  created_by: string;
  created_at: number;
}

type VersionTable = {
  [T in keyof Tables]: Tables[T] extends VersionRow ? T : never;
}[keyof Tables];

/** A version before it is stored: ids as text, without a number. */
type NewVersion<Row> = Omit<Insertable<Row>, 'id' | 'resource_id' | 'number'> & {
  readonly id: string;
  readonly resource_id: string;
};

/** The functions of one version table. */
export function versionTable<T extends VersionTable>(table: T) {
  const name = table as unknown as 't';
  const tableOf = (db: Db) => db as unknown as Kysely<{ t: VersionRow }>;
  return {
    /**
     * Stores a version under the resource's next number, which it returns, and deletes the oldest beyond
     * a hundred, except rows that match `isRetained`. Call it in a transaction that has inserted or locked
     * the resource, so that no concurrent transaction uses the number.
     */
    insertVersion: async (
      tx: Db,
      version: NewVersion<Tables[T]>,
      isRetained: RawBuilder<boolean> = sql<boolean>`false`,
    ): Promise<number> => {
      const { organisation_id } = version as unknown as VersionRow;
      const resource_id = idToBytes(version.resource_id);
      const latest = await tableOf(tx)
        .selectFrom(name)
        .select('number')
        .where('organisation_id', '=', organisation_id)
        .where('resource_id', '=', resource_id)
        .orderBy('number', 'desc')
        .limit(1)
        .executeTakeFirst();
      const number = (latest?.number ?? 0) + 1;
      const row = { ...version, id: idToBytes(version.id), resource_id, number };
      await tableOf(tx)
        .insertInto(name)
        .values(row as unknown as VersionRow)
        .execute();
      if (number <= versionsMax) return number;
      await tableOf(tx)
        .deleteFrom(name)
        .where('organisation_id', '=', organisation_id)
        .where('resource_id', '=', resource_id)
        .where('number', '<=', number - versionsMax)
        .where((eb) => eb.not(isRetained))
        .execute();
      return number;
    },
    deleteVersions: async (tx: Db, organisationId: string, resourceId: string): Promise<void> => {
      await tableOf(tx)
        .deleteFrom(name)
        .where('organisation_id', '=', organisationId)
        .where('resource_id', '=', idToBytes(resourceId))
        .execute();
    },
  };
}
