/** Knows what is kept of a resource's earlier contents: numbered from 1, the latest hundred. */
import { type Insertable, type Kysely, type RawBuilder, sql } from 'kysely';
import { idToBytes } from '../../model/wire/ids.ts';
import type { Db, Tables } from '../connection/db.ts';

const versionsKept = 100;

/** Columns of every table of versions, beside those of the content. Ids are bytes. */
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

/** A version as it is handed over: ids as text, its number given when it is written. */
type NewVersion<Row> = Omit<Insertable<Row>, 'id' | 'resource_id' | 'number'> & {
  readonly id: string;
  readonly resource_id: string;
};

/** The functions of one table of versions. */
export function versionTable<T extends VersionTable>(table: T) {
  // The one place that forgets which table it is.
  const name = table as unknown as 't';
  const tableOf = (db: Db) => db as unknown as Kysely<{ t: VersionRow }>;
  return {
    /**
     * Gives the version the resource's next number, which it yields, and forgets the oldest beyond
     * the hundred, save for those that `kept` finds. Call it in a transaction that has made or locked
     * the resource, so that nobody else takes the number.
     */
    insertVersion: async (
      tx: Db,
      version: NewVersion<Tables[T]>,
      kept: RawBuilder<boolean> = sql<boolean>`false`,
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
      if (number <= versionsKept) return number;
      await tableOf(tx)
        .deleteFrom(name)
        .where('organisation_id', '=', organisation_id)
        .where('resource_id', '=', resource_id)
        .where('number', '<=', number - versionsKept)
        .where((eb) => eb.not(kept))
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
