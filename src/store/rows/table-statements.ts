/** Statements on one table by column values. The text of each is built once (store/connection/statement.ts). */
import { type Compilable, type Kysely, type RawBuilder, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { insertion, StatementCache } from '../connection/statement.ts';
import { lockInShareMode } from './portable-sql.ts';
import { conditionsOf, predicateShape } from './predicate.ts';

/** Stands for any table where statements are built. */
interface AnyTables {
  t: Record<string, unknown>;
}

type Where = Readonly<Record<string, unknown>>;
type AnyRow = Record<string, unknown>;

/** Replaces a mark in the transaction that changes rows of an organisation; see marks.ts. */
interface Marks {
  replaceOne(tx: Db, organisationId: string): void;
  /** In its place where rows are added; may refuse them. */
  replaceForInsert?(tx: Db, organisationId: string): void;
}

export interface WriteOptions {
  /** Replaced by every insert, update and delete. */
  readonly marks?: Marks;
  /** Whether an update also increments `version`. */
  readonly isVersioned?: boolean;
}

export interface ListTerms {
  readonly columns?: readonly string[];
  /** Columns, each optionally followed by ` desc`. */
  readonly orderBy?: readonly string[];
  readonly limit?: number;
  readonly lock?: 'update' | 'share';
}

/** Builds a statement; `slots` are its own values, followed by those of the condition. */
type WriteStatement = (
  condition: RawBuilder<boolean>,
  slots: readonly unknown[],
) => Compilable<unknown>;

export class TableStatements {
  /** The type of any table, so that the query builder accepts it. */
  readonly #table: 't';
  readonly #options: WriteOptions;
  readonly #cache = new StatementCache();
  readonly #insertion: (db: Db, row: AnyRow) => Promise<void>;

  constructor(table: string, options: WriteOptions) {
    this.#table = table as 't';
    this.#options = options;
    this.#insertion = insertion((db, row: AnyRow) =>
      anyTable(db).insertInto(this.#table).values(row),
    );
  }

  readonly insert = async (db: Db, row: AnyRow): Promise<void> => {
    this.#markInsert(db, row);
    await this.#insertion(db, row);
  };

  readonly insertMany = async (db: Db, many: readonly AnyRow[]): Promise<void> => {
    if (many.length === 0) return;
    this.#markInsert(db, many[0]!);
    await anyTable(db).insertInto(this.#table).values(many).execute();
  };

  readonly list = async (db: Db, where: Where, terms?: ListTerms): Promise<unknown[]> => {
    const values = terms?.limit === undefined ? [] : [terms.limit];
    const key = terms === undefined ? 'list' : listKey(terms);
    const found = await this.#run(db, key, where, values, (condition, slots) =>
      this.#selection(db, condition, terms ?? {}, slots),
    );
    return found === null ? [] : found.rows;
  };

  #selection(
    db: Db,
    condition: RawBuilder<boolean>,
    { columns, orderBy = [], limit, lock }: ListTerms,
    [limitSlot]: readonly unknown[],
  ): Compilable<unknown> {
    const from = anyTable(db).selectFrom(this.#table);
    const selected = columns === undefined ? from.selectAll() : from.select([...columns]);
    return selected
      .where(condition)
      .$call((query) => ordered(query, orderBy))
      .$if(limit !== undefined, (query) => query.limit(limitSlot as number))
      .$if(lock === 'update', (query) => query.forUpdate())
      .$if(lock === 'share', (query) => query.modifyEnd(lockInShareMode));
  }

  readonly count = async (db: Db, where: Where): Promise<number> => {
    const counted = await this.#run(db, 'count', where, [], (condition) =>
      anyTable(db)
        .selectFrom(this.#table)
        .select(({ fn }) => fn.countAll().as('total'))
        .where(condition),
    );
    return counted === null ? 0 : Number((counted.rows[0] as { total: unknown }).total);
  };

  readonly update = async (db: Db, where: Where, set: Where): Promise<number> => {
    const { isVersioned = false } = this.#options;
    const columns = Object.keys(set).filter((column) => set[column] !== undefined);
    if (columns.length === 0 && !isVersioned) return 0;
    const values = columns.map((column) => set[column]);
    const increment = isVersioned ? { version: sql`version + 1` } : {};
    const updated = await this.#write(db, `set ${columns.join()}`, where, values, (is, slots) =>
      anyTable(db)
        .updateTable(this.#table)
        .set({ ...Object.fromEntries(columns.map((name, at) => [name, slots[at]])), ...increment })
        .where(is),
    );
    return Number(updated?.numAffectedRows ?? 0n);
  };

  readonly delete = async (
    db: Db,
    where: Where,
    { orderBy = [], limit }: Pick<ListTerms, 'orderBy' | 'limit'> = {},
  ): Promise<number> => {
    const key = `delete ${orderBy.join()} ${limit !== undefined}`;
    const values = limit === undefined ? [] : [limit];
    const deleted = await this.#write(db, key, where, values, (condition, [limitSlot]) =>
      anyTable(db)
        .deleteFrom(this.#table)
        .where(condition)
        .$call((query) => ordered(query, orderBy))
        .$if(limit !== undefined, (query) => query.limit(limitSlot as number)),
    );
    return Number(deleted?.numAffectedRows ?? 0n);
  };

  /** A query with these conditions; an undefined value leaves its column out. */
  readonly matching = (db: Db, filter: Where) => {
    const where = Object.fromEntries(
      Object.entries(filter).filter(([, value]) => value !== undefined),
    );
    const values: unknown[] = [];
    const query = anyTable(db).selectFrom(this.#table);
    if (predicateShape(where, values) === null) return query.where(sql<boolean>`1 = 0`);
    const conditions = conditionsOf(where, values.values());
    return conditions.reduce((all, condition) => all.where(condition), query);
  };

  #markInsert(tx: Db, { organisation_id: organisationId }: Where): void {
    const { marks } = this.#options;
    if (marks?.replaceForInsert === undefined) this.#mark(tx, { organisation_id: organisationId });
    else marks.replaceForInsert(tx, organisationId as string);
  }

  #mark(tx: Db, { organisation_id: organisationId }: Where): void {
    this.#options.marks?.replaceOne(tx, organisationId as string);
  }

  /** Returns null when the predicate matches no row because a list is empty. */
  #run(db: Db, key: string, where: Where, values: unknown[], write: WriteStatement) {
    const ownCount = values.length;
    const shape = predicateShape(where, values);
    if (shape === null) return null;
    return this.#cache.run(db, `${key} ${shape}`, values, (slots) => {
      const conditions = conditionsOf(where, slots.slice(ownCount).values());
      const all = conditions.length === 0 ? [sql<boolean>`1 = 1`] : conditions;
      return write(sql<boolean>`${sql.join(all, sql` and `)}`, slots);
    });
  }

  /** As {@link #run}, for a change; replaces a mark first. */
  #write(db: Db, key: string, where: Where, values: unknown[], write: WriteStatement) {
    if (predicateShape(where, []) === null) return null;
    this.#mark(db, where);
    return this.#run(db, key, where, values, write);
  }
}

function anyTable(db: Db): Kysely<AnyTables> {
  return db as unknown as Kysely<AnyTables>;
}

function listKey({ columns, orderBy, limit, lock }: ListTerms): string {
  return `list ${lock ?? ''} ${columns?.join() ?? '*'} ${orderBy?.join() ?? ''} ${limit !== undefined}`;
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
