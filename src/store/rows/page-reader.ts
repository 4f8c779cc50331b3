/** Finds and counts one page of a list without reading the rows before and after it.
 *
 * Pages are numbered, so that the database would otherwise read all rows before a page and count those after
 * it. The length of a list and the ends of its pages are remembered together with a stamp, which every
 * change of the list replaces in the same transaction. Each page is read together with the stamp in one
 * statement. When the stamp equals the remembered one, the list is unchanged, whichever replica wrote last.
 * Otherwise the list is counted again, so that every result matches what the statement saw.
 */
import type { RawBuilder, SelectQueryBuilder } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import {
  ListMemory,
  newRememberedList,
  noteOffset,
  type RememberedList,
  type RowRange,
  rangeOf,
} from './list-memory.ts';

/** The source of a list. */
export interface ListSource {
  readonly db: Db;
  /** Replaced by every change of the list (`stampOf`); null when there is none. */
  readonly stamp: RawBuilder<string> | null;
  /** The column that orders the list and is selected as the row's id; default `id`. */
  readonly orderedBy?: string;
  /** Default false: the greatest first. */
  readonly isAscending?: boolean;
  /** Shorter lists are counted each time; default 0. */
  readonly rememberedMin?: number;
}

/** A query with the filters of a list, for any table. */
export type FilteredQuery = SelectQueryBuilder<{ t: { id: string } }, 't', object>;
export type ColumnSelection<Row> = (
  query: FilteredQuery,
) => SelectQueryBuilder<{ t: { id: string } }, 't', Row>;

interface ListPage<Row> {
  readonly rows: Row[];
  readonly total: number;
}

/** Rows of one statement and the stamp; null when there was no row to carry it. */
interface Batch<Row> {
  readonly rows: Row[];
  readonly stamp: string | null;
}

const memories = new WeakMap<Db, ListMemory>();

/** One page with the columns of `select`, which include the id, and the number of rows on all pages. */
export function readPage<Row extends { id: string }>(
  { db, stamp, orderedBy = 'id', isAscending = false, rememberedMin = 0 }: ListSource,
  query: FilteredQuery,
  page: Page,
  select: ColumnSelection<Row>,
): Promise<ListPage<Row>> {
  // A transaction sees its own changes before it replaces their marks.
  const isRemembered = stamp !== null && !db.isTransaction;
  const list = new List(query, select, {
    orderedBy,
    isAscending,
    stamp: isRemembered ? stamp : sql<null>`null`,
  });
  if (!isRemembered) return countAndRead(list, page);
  return readRemembered({ memory: memoryOf(db), rememberedMin }, list, page);
}

function memoryOf(db: Db): ListMemory {
  const existing = memories.get(db);
  if (existing !== undefined) return existing;
  const created = new ListMemory();
  memories.set(db, created);
  return created;
}

async function readRemembered<Row extends { id: string }>(
  { memory, rememberedMin }: { readonly memory: ListMemory; readonly rememberedMin: number },
  list: List<Row>,
  page: Page,
): Promise<ListPage<Row>> {
  const key = list.key();
  const seen = memory.find(key);
  const hit = seen && (await readSeen(list, seen, page));
  if (hit !== undefined) return hit;
  const { rows, total, stamp } = await countAndRead(list, page);
  if (stamp === null || total < rememberedMin) return { rows, total };
  const found = newRememberedList(stamp, total);
  noteEnd(found, page, rows);
  memory.keep(key, found);
  return { rows, total };
}

/** Returns undefined when the list has changed. */
async function readSeen<Row extends { id: string }>(
  list: List<Row>,
  seen: RememberedList,
  page: Page,
): Promise<ListPage<Row> | undefined> {
  const isBeyond = page.offset >= seen.total;
  // Reads at least one row, which carries the stamp.
  const readable = isBeyond ? { limit: 1, offset: seen.total - 1 } : page;
  if (readable.offset < 0) return undefined;
  const { rows, stamp } = await list.read(rangeOf(seen, readable));
  if (stamp !== seen.stamp) return undefined;
  if (isBeyond) return { rows: [], total: seen.total };
  noteEnd(seen, page, rows);
  return { rows, total: seen.total };
}

function noteEnd(seen: RememberedList, page: Page, rows: readonly { readonly id: string }[]): void {
  const last = rows.at(-1);
  if (last !== undefined) noteOffset(seen, { offset: page.offset + rows.length, id: last.id });
}

/** The stamp is null when rows and count may come from different states. */
async function countAndRead<Row>(
  list: List<Row>,
  { offset, limit }: Page,
): Promise<ListPage<Row> & { stamp: string | null }> {
  const { rows, stamp } = await list.read({ from: null, isUp: false, skip: offset, count: limit });
  const isEnd = rows.length < limit && (rows.length > 0 || offset === 0);
  if (isEnd) return { rows, total: offset + rows.length, stamp };
  const counted = await list.count();
  return { rows, total: counted.total, stamp: counted.stamp === stamp ? stamp : null };
}

/** The statements about one list. */
class List<Row> {
  readonly #query: FilteredQuery;
  readonly #select: ColumnSelection<Row>;
  readonly #orderedBy: RawBuilder<unknown>;
  readonly #isAscending: boolean;
  readonly #stamp: RawBuilder<string | null>;

  constructor(
    query: FilteredQuery,
    select: ColumnSelection<Row>,
    {
      orderedBy,
      isAscending,
      stamp,
    }: {
      readonly orderedBy: string;
      readonly isAscending: boolean;
      readonly stamp: RawBuilder<string | null>;
    },
  ) {
    this.#query = query;
    this.#select = select;
    this.#orderedBy = sql.ref(orderedBy);
    this.#isAscending = isAscending;
    this.#stamp = stamp;
  }

  /** Identifies the filters and the organisation. */
  key(): string {
    const { sql: text, parameters } = this.#query.compile();
    return `${text} ${JSON.stringify(parameters)}`;
  }

  /** Returns the rows in list order, regardless of the direction of reading. */
  async read({ from, isUp, skip, count }: RowRange): Promise<Batch<Row>> {
    // Rows after the starting row, or, upwards, the starting row and those before it.
    const [after, upTo] = this.#isAscending ? (['>', '<='] as const) : (['<', '>='] as const);
    const isLeastFirst = this.#isAscending !== isUp;
    const found = await this.#select(this.#query)
      .select(this.#stamp.as('list_stamp'))
      .$if(from !== null, (rows) => rows.where(this.#orderedBy, isUp ? upTo : after, from))
      .orderBy(this.#orderedBy, isLeastFirst ? 'asc' : 'desc')
      .limit(count)
      .offset(skip)
      .execute();
    if (isUp) found.reverse();
    const rows = found.map(({ list_stamp: _, ...row }) => row as Row);
    return { rows, stamp: found[0]?.list_stamp ?? null };
  }

  async count(): Promise<{ readonly total: number; readonly stamp: string | null }> {
    const counted = await this.#query
      .select((eb) => [eb.fn.countAll<number>().as('total'), this.#stamp.as('list_stamp')])
      .executeTakeFirstOrThrow();
    return { total: Number(counted.total), stamp: counted.list_stamp };
  }
}
