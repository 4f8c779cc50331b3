/** Typed finds, lists and writes on one table by column values. */
import type { Insertable, RawBuilder, Selectable, SelectQueryBuilder, Updateable } from 'kysely';
import type { Db, Tables } from '../connection/db.ts';
import type { Condition } from './predicate.ts';
import { type ListTerms, TableStatements, type WriteOptions } from './table-statements.ts';

type Row<T extends keyof Tables> = Selectable<Tables[T]>;

/** Values by column; every one must match. An array matches any of its elements, and null a null. */
type AnyPredicate<R> = { readonly [C in keyof R]?: Condition<R[C]> };

/** A tenant's table cannot be read or written without the tenant. */
export type Predicate<R> = AnyPredicate<R> &
  (R extends { organisation_id: unknown } ? { readonly organisation_id: string } : unknown);

/** As {@link Predicate}; an undefined value leaves its column out. */
export type Filter<R> = { readonly [C in keyof R]?: Condition<R[C]> | undefined } & (R extends {
  organisation_id: unknown;
}
  ? { readonly organisation_id: string }
  : unknown);

type OrderTerm<R> = (keyof R & string) | `${keyof R & string} desc`;

interface ListOptions<R, C extends keyof R & string = keyof R & string> {
  /** All columns when absent. */
  readonly columns?: readonly C[];
  readonly orderBy?: readonly OrderTerm<R>[];
  readonly limit?: number;
  readonly lock?: 'update' | 'share';
}

/** New values by column; an SQL expression can refer to the current ones. */
type Changes<T extends keyof Tables> = {
  readonly [C in keyof Updateable<Tables[T]>]?: Updateable<Tables[T]>[C] | RawBuilder<unknown>;
};

type Args<R, C extends readonly (keyof R & string)[]> = {
  [I in keyof C]: C[I] extends 'organisation_id' ? string : Condition<R[C[I]]>;
};

/** The functions of one table. Updates and deletes return the number of rows. */
export interface Rows<T extends keyof Tables> {
  /** Throws errno 1062 when a unique value is taken. */
  insert(db: Db, row: Insertable<Tables[T]>): Promise<void>;
  /** Does nothing for an empty list. */
  insertMany(db: Db, rows: readonly Insertable<Tables[T]>[]): Promise<void>;
  find(db: Db, where: Predicate<Row<T>>): Promise<Row<T> | undefined>;
  /** Locks the row until the transaction ends. */
  findForUpdate(tx: Db, where: Predicate<Row<T>>): Promise<Row<T> | undefined>;
  /** Keeps the row from being changed until the transaction ends. */
  findForShare(tx: Db, where: Predicate<Row<T>>): Promise<Row<T> | undefined>;
  list<C extends keyof Row<T> & string = keyof Row<T> & string>(
    db: Db,
    where: Predicate<Row<T>>,
    options?: ListOptions<Row<T>, C>,
  ): Promise<Pick<Row<T>, C>[]>;
  /** As `list`, over all organisations, for jobs. */
  listAnywhere<C extends keyof Row<T> & string = keyof Row<T> & string>(
    db: Db,
    where: AnyPredicate<Row<T>>,
    options?: ListOptions<Row<T>, C>,
  ): Promise<Pick<Row<T>, C>[]>;
  /** The first row in an order, or any row that matches. */
  findFirst<C extends keyof Row<T> & string = keyof Row<T> & string>(
    db: Db,
    where: Predicate<Row<T>>,
    options?: Omit<ListOptions<Row<T>, C>, 'limit'>,
  ): Promise<Pick<Row<T>, C> | undefined>;
  exists(db: Db, where: Predicate<Row<T>>): Promise<boolean>;
  count(db: Db, where: Predicate<Row<T>>): Promise<number>;
  update(db: Db, where: Predicate<Row<T>>, set: Changes<T>): Promise<number>;
  delete(
    db: Db,
    where: Predicate<Row<T>>,
    options?: Pick<ListOptions<Row<T>>, 'orderBy' | 'limit'>,
  ): Promise<number>;
  /** A query with these conditions, for a page or a join of its own. */
  matching(db: Db, filter: Filter<Row<T>>): SelectQueryBuilder<Tables, T, Record<never, never>>;
  /** A `find` that takes the values of these columns in their order. */
  findBy<const C extends readonly (keyof Row<T> & string)[]>(
    ...columns: C
  ): (db: Db, ...values: Args<Row<T>, C>) => Promise<Row<T> | undefined>;
  findByForUpdate<const C extends readonly (keyof Row<T> & string)[]>(
    ...columns: C
  ): (tx: Db, ...values: Args<Row<T>, C>) => Promise<Row<T> | undefined>;
  /** A `list` that takes the values of these columns in their order. */
  listBy<
    const C extends readonly (keyof Row<T> & string)[],
    S extends keyof Row<T> & string = keyof Row<T> & string,
  >(
    columns: C,
    options?: ListOptions<Row<T>, S>,
  ): (db: Db, ...values: Args<Row<T>, C>) => Promise<Pick<Row<T>, S>[]>;
  /** Functions that take an object with these columns, such as a stored row, and use no other of it. */
  keyedBy<const C extends readonly (keyof Row<T> & string)[]>(
    ...columns: C
  ): KeyedRows<T, Pick<Row<T>, C[number]>>;
  /** A `delete` that takes the values of these columns in their order. */
  deleteBy<const C extends readonly (keyof Row<T> & string)[]>(
    ...columns: C
  ): (tx: Db, ...values: Args<Row<T>, C>) => Promise<number>;
}

interface KeyedRows<T extends keyof Tables, Key> {
  find(db: Db, key: Readonly<Key>): Promise<Row<T> | undefined>;
  findForUpdate(tx: Db, key: Readonly<Key>): Promise<Row<T> | undefined>;
  update(db: Db, key: Readonly<Key>, set: Changes<T>): Promise<number>;
  delete(db: Db, key: Readonly<Key>): Promise<number>;
}

type AnyWhere = Readonly<Record<string, unknown>>;

/** The functions of a table, which its file exports and builds on. */
export function rows<T extends keyof Tables>(table: T, options: WriteOptions = {}): Rows<T> {
  const statements = new TableStatements(table, options);
  const { list, update } = statements;
  const remove = statements.delete;
  const find = async (db: Db, where: AnyWhere) => (await list(db, where))[0];
  const findForUpdate = async (tx: Db, where: AnyWhere) =>
    (await list(tx, where, { lock: 'update' }))[0];
  const findFirst = async (db: Db, where: AnyWhere, terms: ListTerms = {}) =>
    (await list(db, where, { ...terms, limit: 1 }))[0];
  const functions = {
    insert: statements.insert,
    insertMany: statements.insertMany,
    list,
    listAnywhere: list,
    find,
    findForUpdate,
    findForShare: async (tx: Db, where: AnyWhere) => (await list(tx, where, { lock: 'share' }))[0],
    findFirst,
    exists: async (db: Db, where: AnyWhere) =>
      (await findFirst(db, where, { columns: Object.keys(where).slice(0, 1) })) !== undefined,
    count: statements.count,
    update,
    delete: remove,
    matching: statements.matching,
    findBy: (...columns: string[]) => byPosition(columns, find),
    findByForUpdate: (...columns: string[]) => byPosition(columns, findForUpdate),
    listBy: (columns: string[], terms?: ListTerms) =>
      byPosition(columns, (db, where) => list(db, where, terms)),
    deleteBy: (...columns: string[]) => byPosition(columns, (tx, where) => remove(tx, where)),
    keyedBy: (...columns: string[]) => ({
      find: (db: Db, key: AnyWhere) => find(db, pick(key, columns)),
      findForUpdate: (tx: Db, key: AnyWhere) => findForUpdate(tx, pick(key, columns)),
      update: (db: Db, key: AnyWhere, set: AnyWhere) => update(db, pick(key, columns), set),
      delete: (db: Db, key: AnyWhere) => remove(db, pick(key, columns)),
    }),
  };
  // The interface has the row type of the table, which the implementation does not depend on.
  return functions as unknown as Rows<T>;
}

function byPosition<R>(
  columns: readonly string[],
  run: (db: Db, where: AnyWhere) => Promise<R>,
): (db: Db, ...values: unknown[]) => Promise<R> {
  return (db, ...values) => {
    const where: Record<string, unknown> = {};
    for (let at = 0; at < columns.length; at += 1) where[columns[at]!] = values[at];
    return run(db, where);
  };
}

function pick(key: AnyWhere, columns: readonly string[]): AnyWhere {
  const where: Record<string, unknown> = {};
  for (const column of columns) where[column] = key[column];
  return where;
}
