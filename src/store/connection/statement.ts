/** Caches the text of statements that differ only in their values, because building one costs more than sending it. */
import type { Compilable, CompiledQuery, QueryResult } from 'kysely';
import type { Db } from './db.ts';
import { execute, isDirect } from './dialect.ts';

/** Values of one statement by name; an undefined one belongs to another shape. */
type Values = Readonly<Record<string, unknown>>;

export interface Statement<V extends Values, Row> {
  all(db: Db, values: V): Promise<Row[]>;
  first(db: Db, values: V): Promise<Row | undefined>;
}

/** Takes the place of a value while a statement is built. */
class Slot {
  readonly key: string | number;

  constructor(key: string | number) {
    this.key = key;
  }
}

/** Callers choose the columns of an update, and so the number of shapes. */
const shapesMax = 50;

/** The built text for one set of names. */
interface Shape<Row> {
  readonly names: readonly string[];
  readonly compiled: CompiledQuery<Row>;
}

/**
 * A statement with named values. `write` is called once for each set of names, with a placeholder for
 * each value. It may pass a placeholder on as a value and must do nothing else with it.
 */
export function statement<V extends Values, Row>(
  write: (db: Db, values: V) => Compilable<Row>,
  isGiven: (value: unknown) => boolean = (value) => value !== undefined,
): Statement<V, Row> {
  const shapes = new Map<string, Shape<Row>>();
  let latest: Shape<Row> | undefined;
  const shapeOf = (db: Db, names: readonly string[]): Shape<Row> => {
    const key = names.join();
    const cached = shapes.get(key);
    if (cached !== undefined) return cached;
    const slots = Object.fromEntries(names.map((name) => [name, new Slot(name)]));
    const shape = { names, compiled: write(db, slots as unknown as V).compile() };
    if (shapes.size === shapesMax) shapes.clear();
    shapes.set(key, shape);
    return shape;
  };
  /** Usually the names are those of the previous call, which is checked without building a key. */
  const find = (db: Db, values: V): Shape<Row> => {
    if (latest !== undefined && hasNames(values, latest.names, isGiven)) return latest;
    const names = Object.keys(values).filter((name) => isGiven(values[name]));
    latest = shapeOf(db, names);
    return latest;
  };
  const all = async (db: Db, values: V): Promise<Row[]> =>
    (await executeWith(db, find(db, values).compiled, values)).rows;
  return { all, first: async (db, values) => (await all(db, values))[0] };
}

/** Whether the given values have exactly these names, in this order. */
function hasNames(
  values: Values,
  names: readonly string[],
  isGiven: (value: unknown) => boolean,
): boolean {
  let at = 0;
  for (const name in values) {
    if (!isGiven(values[name])) continue;
    if (name !== names[at]) return false;
    at += 1;
  }
  return at === names.length;
}

/** As {@link statement}, for an insert: a null or undefined column is left to the table's default, null. */
export function insertion<V extends Values>(
  write: (db: Db, row: V) => Compilable<unknown>,
): (db: Db, row: V) => Promise<void> {
  const { all } = statement(write, (value) => value !== undefined && value !== null);
  return async (db, row) => {
    await all(db, row);
  };
}

/** Built statements by the caller's key, with values by position. */
export class StatementCache {
  readonly #compiled = new Map<string, CompiledQuery<unknown>>();

  /**
   * Runs the statement of `key`. `write` builds it from one slot for each value. The statement is built for
   * this run only when a value is an SQL expression, which is part of the text, or when `db` is a variant
   * whose plugins may transform each statement.
   */
  run(
    db: Db,
    key: string,
    values: readonly unknown[],
    write: (slots: readonly unknown[]) => Compilable<unknown>,
  ): Promise<QueryResult<unknown>> {
    if (values.some(isExpression) || !isDirect(db)) return execute(db, write(values).compile());
    let compiled = this.#compiled.get(key);
    if (compiled === undefined) {
      compiled = write(values.map((_, at) => new Slot(at))).compile();
      if (this.#compiled.size === shapesMax) this.#compiled.clear();
      this.#compiled.set(key, compiled);
    }
    return executeWith(db, compiled, values);
  }
}

function isExpression(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'toOperationNode' in value;
}

function executeWith<Row>(
  db: Db,
  { query, queryId, sql, parameters }: CompiledQuery<Row>,
  values: Values | readonly unknown[],
): Promise<QueryResult<Row>> {
  const filled = parameters.map((parameter) =>
    parameter instanceof Slot ? (values as Values)[parameter.key] : parameter,
  );
  return execute<Row>(db, { query, queryId, sql, parameters: filled });
}
