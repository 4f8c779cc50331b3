/** Typed finds, lists and writes on one table by column values. Each statement is compiled once. */
import {
  type Compilable,
  type Insertable,
  type Kysely,
  type RawBuilder,
  type Selectable,
  type SelectQueryBuilder,
  sql,
  type Updateable,
} from 'kysely';
import type { Db, Tables } from '../connection/db.ts';
import { insertion, StatementCache } from '../connection/statement.ts';
import { lockInShareMode } from './portable-sql.ts';
import { type Condition, conditionOf, type Term, termsOf } from './predicate.ts';

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

export interface ListOptions<R, C extends keyof R & string = keyof R & string> {
  /** All columns when absent. */
  readonly columns?: readonly C[];
  readonly orderBy?: readonly OrderTerm<R>[];
  readonly limit?: number;
  readonly lock?: 'update' | 'share';
}

/** Notes in the transaction that rows of an organisation change; see marks.ts. */
interface Marks {
  replaceOne(tx: Db, organisationId: string): void;
}

export interface RowsOptions {
  /** Replaced by every insert, update and delete. */
  readonly marks?: Marks;
  /** Whether an update also increments `version`. */
  readonly isVersioned?: boolean;
}

/** New values by column; an SQL expression can refer to the current ones. */
export type Changes<T extends keyof Tables> = {
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
  /** As `find`, for a value that itself identifies the organisation. */
  findAnywhere(db: Db, where: AnyPredicate<Row<T>>): Promise<Row<T> | undefined>;
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

export interface KeyedRows<T extends keyof Tables, Key> {
  find(db: Db, key: Readonly<Key>): Promise<Row<T> | undefined>;
  findForUpdate(tx: Db, key: Readonly<Key>): Promise<Row<T> | undefined>;
  update(db: Db, key: Readonly<Key>, set: Changes<T>): Promise<number>;
  delete(db: Db, key: Readonly<Key>): Promise<number>;
}

/** Stands for any table where statements are built; rows come back as those of the real one. */
interface AnyTables {
  t: Record<string, unknown>;
}

type AnyWhere = Readonly<Record<string, unknown>>;

/** The functions of a table, which its file exports and builds on. */
export function rows<T extends keyof Tables>(table: T, options: RowsOptions = {}): Rows<T> {
  return new TableRows(table, options) as unknown as Rows<T>;
}

type AnyListOptions = ListOptions<Record<string, unknown>, string>;

class TableRows {
  readonly #table: string;
  readonly #options: RowsOptions;
  readonly #cache = new StatementCache();
  readonly #insertion: (db: Db, row: Record<string, unknown>) => Promise<void>;

  constructor(table: string, options: RowsOptions) {
    this.#table = table;
    this.#options = options;
    this.#insertion = insertion((db, row: Record<string, unknown>) =>
      anyTable(db).insertInto(this.#name).values(row),
    );
  }

  get #name(): 't' {
    return this.#table as 't';
  }

  #mark(tx: Db, { organisation_id: organisationId }: AnyWhere): void {
    this.#options.marks?.replaceOne(tx, organisationId as string);
  }

  readonly insert = async (db: Db, row: Record<string, unknown>): Promise<void> => {
    this.#mark(db, row);
    await this.#insertion(db, row);
  };

  readonly insertMany = async (db: Db, many: readonly Record<string, unknown>[]): Promise<void> => {
    if (many.length === 0) return;
    this.#mark(db, many[0]!);
    await anyTable(db).insertInto(this.#name).values(many).execute();
  };

  readonly list = async (
    db: Db,
    where: AnyWhere,
    options: AnyListOptions = {},
  ): Promise<unknown[]> => {
    const terms = termsOf(where);
    if (terms === null) return [];
    const { columns, orderBy = [], limit, lock = '' } = options;
    const key = `${lock} ${columns?.join() ?? '*'} ${orderBy.join()} ${limit !== undefined}`;
    const values = limit === undefined ? [] : [limit];
    const { rows: found } = await this.#run(db, key, terms, values, (slots, [limitSlot]) => {
      const from = anyTable(db).selectFrom(this.#name);
      const selected = columns === undefined ? from.selectAll() : from.select([...columns]);
      return selected
        .where(slots)
        .$call((query) => ordered(query, orderBy))
        .$if(limit !== undefined, (query) => query.limit(limitSlot as number))
        .$if(lock === 'update', (query) => query.forUpdate())
        .$if(lock === 'share', (query) => query.modifyEnd(lockInShareMode));
    });
    return found;
  };

  readonly listAnywhere = this.list;

  readonly find = async (db: Db, where: AnyWhere): Promise<unknown> =>
    (await this.list(db, where))[0];

  readonly findAnywhere = this.find;

  readonly findForUpdate = async (tx: Db, where: AnyWhere): Promise<unknown> =>
    (await this.list(tx, where, { lock: 'update' }))[0];

  readonly findForShare = async (tx: Db, where: AnyWhere): Promise<unknown> =>
    (await this.list(tx, where, { lock: 'share' }))[0];

  readonly findFirst = async (
    db: Db,
    where: AnyWhere,
    options: AnyListOptions = {},
  ): Promise<unknown> => (await this.list(db, where, { ...options, limit: 1 }))[0];

  readonly exists = async (db: Db, where: AnyWhere): Promise<boolean> => {
    const [column] = Object.keys(where);
    return (await this.list(db, where, { columns: [column!], limit: 1 })).length > 0;
  };

  readonly count = async (db: Db, where: AnyWhere): Promise<number> => {
    const terms = termsOf(where);
    if (terms === null) return 0;
    const { rows: found } = await this.#run(db, 'count', terms, [], (condition) =>
      anyTable(db)
        .selectFrom(this.#name)
        .select(({ fn }) => fn.countAll().as('total'))
        .where(condition),
    );
    return Number((found[0] as { total: unknown }).total);
  };

  readonly update = async (db: Db, where: AnyWhere, set: AnyWhere): Promise<number> => {
    const terms = termsOf(where);
    const columns = Object.keys(set).filter((column) => set[column] !== undefined);
    if (terms === null) return 0;
    if (columns.length === 0 && !this.#options.isVersioned) return 0;
    this.#mark(db, where);
    const values = columns.map((column) => set[column]);
    const counting = this.#options.isVersioned ? { version: sql`version + 1` } : {};
    const key = `set ${columns.join()}`;
    const { numAffectedRows } = await this.#run(db, key, terms, values, (condition, slots) =>
      anyTable(db)
        .updateTable(this.#name)
        .set({ ...Object.fromEntries(columns.map((name, at) => [name, slots[at]])), ...counting })
        .where(condition),
    );
    return Number(numAffectedRows ?? 0n);
  };

  readonly delete = async (
    db: Db,
    where: AnyWhere,
    { orderBy = [], limit }: AnyListOptions = {},
  ): Promise<number> => {
    const terms = termsOf(where);
    if (terms === null) return 0;
    this.#mark(db, where);
    const key = `delete ${orderBy.join()} ${limit !== undefined}`;
    const values = limit === undefined ? [] : [limit];
    const { numAffectedRows } = await this.#run(db, key, terms, values, (condition, [limitSlot]) =>
      anyTable(db)
        .deleteFrom(this.#name)
        .where(condition)
        .$call((query) => ordered(query, orderBy))
        .$if(limit !== undefined, (query) => query.limit(limitSlot as number)),
    );
    return Number(numAffectedRows ?? 0n);
  };

  readonly matching = (db: Db, filter: AnyWhere) => {
    const given = Object.entries(filter).filter(([, value]) => value !== undefined);
    const terms = termsOf(Object.fromEntries(given));
    const query = anyTable(db).selectFrom(this.#name);
    if (terms === null) return query.where(sql<boolean>`1 = 0`);
    return terms.reduce((all, term) => all.where(conditionOf(term, term.value)), query);
  };

  readonly findBy =
    (...columns: string[]) =>
    (db: Db, ...values: unknown[]) =>
      this.find(db, pairs(columns, values));

  readonly findByForUpdate =
    (...columns: string[]) =>
    (tx: Db, ...values: unknown[]) =>
      this.findForUpdate(tx, pairs(columns, values));

  readonly listBy =
    (columns: string[], options?: AnyListOptions) =>
    (db: Db, ...values: unknown[]) =>
      this.list(db, pairs(columns, values), options);

  readonly keyedBy = (...columns: string[]) => {
    const only = (key: AnyWhere) =>
      pairs(
        columns,
        columns.map((column) => key[column]),
      );
    return {
      find: (db: Db, key: AnyWhere) => this.find(db, only(key)),
      findForUpdate: (tx: Db, key: AnyWhere) => this.findForUpdate(tx, only(key)),
      update: (db: Db, key: AnyWhere, set: AnyWhere) => this.update(db, only(key), set),
      delete: (db: Db, key: AnyWhere) => this.delete(db, only(key)),
    };
  };

  readonly deleteBy =
    (...columns: string[]) =>
    (tx: Db, ...values: unknown[]) =>
      this.delete(tx, pairs(columns, values));

  #run(
    db: Db,
    key: string,
    terms: readonly Term[],
    values: readonly unknown[],
    write: (condition: RawBuilder<boolean>, slots: readonly unknown[]) => Compilable<unknown>,
  ) {
    const shape = terms.reduce((text, { shape: one }) => `${text} ${one}`, key);
    const sent = [...values, ...terms.flatMap(({ value }) => (value === undefined ? [] : [value]))];
    return this.#cache.run(db, shape, sent, (slots) => {
      const rest = slots.slice(values.length).values();
      const conditions = terms.map((term) =>
        conditionOf(term, term.value === undefined ? undefined : rest.next().value),
      );
      const condition =
        conditions.length === 0
          ? sql<boolean>`1 = 1`
          : sql<boolean>`${sql.join(conditions, sql` and `)}`;
      return write(condition, slots.slice(0, values.length));
    });
  }
}

function anyTable(db: Db): Kysely<AnyTables> {
  return db as unknown as Kysely<AnyTables>;
}

function pairs(columns: readonly string[], values: readonly unknown[]): AnyWhere {
  return Object.fromEntries(columns.map((column, at) => [column, values[at]]));
}

function ordered<Q extends { orderBy(column: never, direction?: 'asc' | 'desc'): unknown }>(
  query: Q,
  orderBy: readonly string[],
): Q {
  return orderBy.reduce((all, term) => {
    const [column, direction] = term.split(' ');
    return all.orderBy(sql.ref(column!) as never, direction === 'desc' ? 'desc' : 'asc') as Q;
  }, query);
}
