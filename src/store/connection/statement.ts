/** Knows statements that are always the same but for their values: each is written once, then only filled in. */
import type { Compilable, CompiledQuery } from 'kysely';
import type { Db } from './db.ts';
import { execute } from './dialect.ts';

/** What a statement is told: values by name. One left undefined is none of its shape. */
type Values = Readonly<Record<string, unknown>>;

export interface Statement<V extends Values, Row> {
  all(db: Db, values: V): Promise<Row[]>;
  first(db: Db, values: V): Promise<Row | undefined>;
}

/** Stands for a value in the text of which nothing depends on it. */
class Blank {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** Callers choose which columns an update has, and so how many shapes there are. */
const shapesMax = 50;

/** What is written for one set of names. */
interface Shape<Row> {
  readonly names: readonly string[];
  readonly written: CompiledQuery<Row>;
}

/**
 * The query builder takes longer to write a statement than the driver to send it. `write` is called
 * once for each set of names, with something in place of each value that it may hand on as a value
 * and do nothing else with.
 */
export function statement<V extends Values, Row>(
  write: (db: Db, values: V) => Compilable<Row>,
  isGiven: (value: unknown) => boolean = (value) => value !== undefined,
): Statement<V, Row> {
  const shapes = new Map<string, Shape<Row>>();
  let latest: Shape<Row> | undefined;
  const shapeOf = (db: Db, names: readonly string[]): Shape<Row> => {
    const key = names.join();
    const known = shapes.get(key);
    if (known !== undefined) return known;
    const blanks = Object.fromEntries(names.map((name) => [name, new Blank(name)]));
    const shape = { names, written: write(db, blanks as unknown as V).compile() };
    if (shapes.size === shapesMax) shapes.clear();
    shapes.set(key, shape);
    return shape;
  };
  /** As a rule the names are those of the last time, which is known without a word for all of them. */
  const find = (db: Db, values: V): Shape<Row> => {
    if (latest !== undefined && isOfNames(values, latest.names, isGiven)) return latest;
    const names = Object.keys(values).filter((name) => isGiven(values[name]));
    latest = shapeOf(db, names);
    return latest;
  };
  const all = async (db: Db, values: V): Promise<Row[]> => {
    const { query, queryId, sql, parameters } = find(db, values).written;
    const filled = parameters.map((parameter) =>
      parameter instanceof Blank ? values[parameter.name] : parameter,
    );
    return (await execute<Row>(db, { query, queryId, sql, parameters: filled })).rows;
  };
  return { all, first: async (db, values) => (await all(db, values))[0] };
}

/** Whether the values that are given are those of the names, in their order. */
function isOfNames(
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

/** As {@link statement}, for a row to insert: what it says nothing of is null without being sent. */
export function insertion<V extends Values>(
  write: (db: Db, row: V) => Compilable<unknown>,
): (db: Db, row: V) => Promise<void> {
  const { all } = statement(write, (value) => value !== undefined && value !== null);
  return async (db, row) => {
    await all(db, row);
  };
}
