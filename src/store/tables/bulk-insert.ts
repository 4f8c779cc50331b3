/** Knows how many rows are inserted by one statement, which the driver writes faster than the query builder. */
import { CompiledQuery } from 'kysely';
import type { Db } from '../connection/db.ts';
import { execute } from '../connection/dialect.ts';

/**
 * Inserts rows of these columns; `rest` is what follows, such as ON DUPLICATE KEY UPDATE. Names of table
 * and columns go into the text as they are.
 */
export async function bulkInsert<Row extends object>(
  tx: Db,
  target: { readonly table: string; readonly columns: readonly (keyof Row & string)[] },
  rows: readonly Row[],
  rest = '',
): Promise<void> {
  if (rows.length === 0) return;
  const { table, columns } = target;
  const text = `INSERT INTO ${table} (${columns.join(', ')}) VALUES ? ${rest}`;
  const values = rows.map((row) => columns.map((column) => row[column]));
  await execute(tx, CompiledQuery.raw(text, [values]));
}
