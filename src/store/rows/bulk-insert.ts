/** Knows how many rows are inserted by one statement, which the driver writes faster than the query builder. */
import { CompiledQuery } from 'kysely';
import { escape as literal, raw } from 'mysql2';
import type { Db } from '../connection/db.ts';
import { execute } from '../connection/dialect.ts';

/** What columns hold. */
type Value = string | number | Buffer | null;

/** Names of table and columns go into the text as they are. */
export interface InsertTarget<Row> {
  readonly table: string;
  readonly columns: readonly (keyof Row & string)[];
}

/** Inserts rows of these columns; `rest` is what follows, such as ON DUPLICATE KEY UPDATE. */
export async function bulkInsert<Row extends object>(
  tx: Db,
  target: InsertTarget<Row>,
  rows: readonly Row[],
  rest = '',
): Promise<void> {
  const tuples = rows.map((row) => tupleOf(target, row));
  await insertTuples(tx, target, tuples, rest);
}

/**
 * A row as it stands in a statement. Made by one `join`: put together value by value it would keep a
 * tree of all its pieces for as long as the row waits.
 */
export function tupleOf<Row extends object>({ columns }: InsertTarget<Row>, row: Row): string {
  const values = columns.map((column) => literalOf(row[column] as Value));
  return `(${values.join(',')})`;
}

/** Of a value that is no text the driver would ask first what else it could be. */
function literalOf(value: Value): string {
  if (value === null) return 'NULL';
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? literal(value) : `X'${value.toString('hex')}'`;
}

/** As {@link bulkInsert}, of rows that {@link tupleOf} has written before. */
export async function insertTuples<Row extends object>(
  tx: Db,
  { table, columns }: InsertTarget<Row>,
  tuples: readonly string[],
  rest = '',
): Promise<void> {
  if (tuples.length === 0) return;
  const text = `INSERT INTO ${table} (${columns.join(', ')}) VALUES ? ${rest}`;
  // As one value, or the driver would look for others all through it.
  await execute(tx, CompiledQuery.raw(text, [raw(tuples.join(','))]));
}
