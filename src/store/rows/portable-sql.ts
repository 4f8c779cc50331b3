/** Knows pieces of SQL that MariaDB and MySQL have different words for, in the one form that both take. */
import { type RawBuilder, sql } from 'kysely';

/** Ends a query: what it reads stays as it is until the transaction ends. MariaDB has no `FOR SHARE`. */
export const lockInShareMode = sql`lock in share mode`;

/** The 16 bytes of an id that stands as text. MariaDB has no `UUID_TO_BIN`. */
export function bytesOfId(id: RawBuilder<unknown>): RawBuilder<Buffer> {
  return sql<Buffer>`UNHEX(REPLACE(${id}, '-', ''))`;
}
