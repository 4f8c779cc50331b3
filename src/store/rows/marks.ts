/** Change markers of an organisation: random values that every change replaces, so that equal markers mean equal data. */
import { randomBytes } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { beforeCommit } from '../connection/before-commit.ts';
import type { Db, Tables } from '../connection/db.ts';
import { statement } from '../connection/statement.ts';

export interface MarkRow {
  organisation_id: string;
  slot: number;
  mark: Buffer;
}

/** Tables of marks; each covers other rows of an organisation. */
type MarkTable = {
  [T in keyof Tables]: Tables[T] extends MarkRow ? T : never;
}[keyof Tables];

/** Number of transactions that can change an organisation at once without waiting for each other. */
export const slots = 16;
export const markBytes = 16;

/** Key of the deferred statement (store/connection/before-commit.ts) that replaces a mark. */
export const markKey = (table: MarkTable, organisationId: string): string =>
  `${table} ${organisationId}`;

/** A random mark in one of the slots. */
export function randomMark(organisationId: string): MarkRow {
  const mark = randomBytes(markBytes);
  return { organisation_id: organisationId, slot: mark[0]! % slots, mark };
}

/** Combines eight bytes of each mark, which suffice to distinguish two states. */
export const combined = sql<string>`hex(bit_xor(cast(conv(hex(left(m.mark, 8)), 16, 10) as unsigned)))`;

export function marksOf(table: MarkTable) {
  const replacing = statement((tx, row: { [K in keyof MarkRow]: MarkRow[K] }) =>
    tx.insertInto(table).values(row).onDuplicateKeyUpdate({ mark: row.mark }),
  );
  const generationOf = (organisationId: RawBuilder<unknown>): RawBuilder<string> =>
    sql<string>`(select ${combined} from ${sql.table(table)} m where m.organisation_id = ${organisationId})`;
  return {
    /**
     * Call it in every transaction that changes rows which the marks cover. The transaction's last
     * statement replaces one of sixteen marks by a random value.
     *
     * The marks that a transaction reads identify the data that it sees. Changes under one slot are
     * serialised, because each holds the row's lock until it commits, so that a slot's mark identifies the
     * last visible change and all before it. Unlike counters, random marks cannot repeat after a restore of
     * the database.
     */
    replaceOne: (tx: Db, organisationId: string): void => {
      const replace = async () => {
        await replacing.all(tx, randomMark(organisationId));
      };
      // Does not take the place of a statement that may refuse the transaction.
      beforeCommit(tx, markKey(table, organisationId), replace, false);
    },
    /**
     * The marks of an organisation as one short text, for use within another statement: reading them
     * separately could see another state.
     */
    generationOf,
    /**
     * A stamp that every insert, delete or change in `listed` replaces: the marks and the id of the newest
     * row, which also reveals rows that were loaded by other programs.
     */
    stampOf: (listed: string, organisationId: string): RawBuilder<string> => {
      const own = sql`${organisationId}`;
      const newest = sql`(select max(id) from ${sql.table(listed)} where organisation_id = ${own})`;
      return sql<string>`concat(${generationOf(own)}, ' ', ${newest})`;
    },
  };
}
