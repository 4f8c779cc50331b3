/** Knows how a transaction leaves a mark, by which two states of an organisation are told apart without reading either. */
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

/** Tables of marks: each is about other rows of an organisation. */
type MarkTable = {
  [T in keyof Tables]: Tables[T] extends MarkRow ? T : never;
}[keyof Tables];

/** So many can change an organisation at once without one waiting for the commit of another. */
const slots = 16;
const markBytes = 16;

/** Eight random bytes of each are enough to tell two states apart. */
export const folded = sql<string>`hex(bit_xor(cast(conv(hex(left(m.mark, 8)), 16, 10) as unsigned)))`;

export function marksOf(table: MarkTable) {
  const replacing = statement((tx, row: { [K in keyof MarkRow]: MarkRow[K] }) =>
    tx.insertInto(table).values(row).onDuplicateKeyUpdate({ mark: row.mark }),
  );
  const generationOf = (organisationId: RawBuilder<unknown>): RawBuilder<string> =>
    sql<string>`(select ${folded} from ${sql.table(table)} m where m.organisation_id = ${organisationId})`;
  return {
    /**
     * Whoever changes anything that the marks are about says so here, in the transaction of the change.
     * Its last statement puts a new random mark in the place of one of sixteen.
     *
     * The marks that a transaction reads then name what it sees, and nothing else has the same: changes
     * under one slot come one after the other, because each holds the row until it is committed, so that
     * the mark found there names the last of them that is seen, and with it all before. A database that is
     * restored never comes to the same marks by other changes, as it would to the same numbers.
     */
    replaceOne: (tx: Db, organisationId: string): void => {
      beforeCommit(tx, `${table} ${organisationId}`, async () => {
        const mark = randomBytes(markBytes);
        await replacing.all(tx, { organisation_id: organisationId, slot: mark[0]! % slots, mark });
      });
    },
    /**
     * The marks of an organisation in one short text, for use within another statement, which then says
     * what it saw and under which marks: a look at them before or after could be of another moment.
     */
    generationOf,
    /**
     * What is replaced whenever a row of an organisation's comes to `listed`, goes or changes: its marks, and
     * the newest row, which tells also of rows that were loaded by others than this program.
     */
    stampOf: (listed: string, organisationId: string): RawBuilder<string> => {
      const own = sql`${organisationId}`;
      const newest = sql`(select max(id) from ${sql.table(listed)} where organisation_id = ${own})`;
      return sql<string>`concat(${generationOf(own)}, ' ', ${newest})`;
    },
  };
}
