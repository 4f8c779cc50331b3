/** SQL fragments in the form that both MariaDB and MySQL accept. */
import { type RawBuilder, sql } from 'kysely';

/** Appended to a query: its rows cannot change until the transaction ends. MariaDB has no `FOR SHARE`. */
export const lockInShareMode = sql`lock in share mode`;

/** The 16 bytes of an id in text form. MariaDB has no `UUID_TO_BIN`. */
export function bytesOfId(id: RawBuilder<unknown>): RawBuilder<Buffer> {
  return sql<Buffer>`UNHEX(REPLACE(${id}, '-', ''))`;
}
