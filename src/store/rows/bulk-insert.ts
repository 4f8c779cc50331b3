/** Inserts many rows with one statement, serialised by the driver because that is faster than the query builder. */
import { CompiledQuery } from 'kysely';
import { escape as literal, raw } from 'mysql2';
import type { Db } from '../connection/db.ts';
import { execute } from '../connection/dialect.ts';

type Value = string | number | Buffer | null;

/** Table and column names are inserted into the SQL text without quoting. */
export interface InsertTarget<Row> {
  readonly table: string;
  readonly columns: readonly (keyof Row & string)[];
}

/** Inserts rows with these columns; `rest` is appended, for example ON DUPLICATE KEY UPDATE. */
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
 * Serialises a row. A single `join` yields a flat string; concatenation would retain a tree of all pieces
 * while the row is queued.
 */
export function tupleOf<Row extends object>({ columns }: InsertTarget<Row>, row: Row): string {
  const values = columns.map((column) => literalOf(row[column] as Value));
  return `(${values.join(',')})`;
}

/** Handles other types here, because the driver checks for text last. */
function literalOf(value: Value): string {
  if (value === null) return 'NULL';
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? literal(value) : `X'${value.toString('hex')}'`;
}

/** As {@link bulkInsert}, for rows serialised by {@link tupleOf}. */
export async function insertTuples<Row extends object>(
  tx: Db,
  { table, columns }: InsertTarget<Row>,
  tuples: readonly string[],
  rest = '',
): Promise<void> {
  if (tuples.length === 0) return;
  const text = `INSERT INTO ${table} (${columns.join(', ')}) VALUES ? ${rest}`;
  // As one value, so that the driver does not scan the text for placeholders.
  await execute(tx, CompiledQuery.raw(text, [raw(tuples.join(','))]));
}
