/** Knows statements that are always the same but for their values: each is written once, then only filled in. */
import type { Compilable, CompiledQuery } from 'kysely';
import type { Db } from './db.ts';

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

/**
 * The query builder takes longer to write a statement than the driver to send it. `write` is called
 * once for each set of names, with something in place of each value that it may hand on as a value
 * and do nothing else with.
 */
export function statement<V extends Values, Row>(
  write: (db: Db, values: V) => Compilable<Row>,
  isGiven: (value: unknown) => boolean = (value) => value !== undefined,
): Statement<V, Row> {
  const shapes = new Map<string, CompiledQuery<Row>>();
  const shapeOf = (db: Db, names: readonly string[]): CompiledQuery<Row> => {
    const key = names.join();
    const known = shapes.get(key);
    if (known !== undefined) return known;
    const blanks = Object.fromEntries(names.map((name) => [name, new Blank(name)]));
    const shape = write(db, blanks as unknown as V).compile();
    if (shapes.size === shapesMax) shapes.clear();
    shapes.set(key, shape);
    return shape;
  };
  const all = async (db: Db, values: V): Promise<Row[]> => {
    const names = Object.keys(values).filter((name) => isGiven(values[name]));
    const shape = shapeOf(db, names);
    const parameters = shape.parameters.map((parameter) =>
      parameter instanceof Blank ? values[parameter.name] : parameter,
    );
    const filled: CompiledQuery<Row> = { ...shape, parameters };
    return (await db.executeQuery(filled)).rows;
  };
  return { all, first: async (db, values) => (await all(db, values))[0] };
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
