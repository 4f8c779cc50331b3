/** Knows how a page of a list is found and counted without a walk over the rows before it and behind it.
 *
 * Pages are asked for by number, so that the engine would walk over all rows before one, and count those
 * behind it. What a list was once found to be is remembered: its length and where pages ended, with
 * a stamp that whatever changes the list replaces in the same transaction. Each page is read with the
 * stamp in the same statement, which sees one moment: where the stamp is the one that is remembered, the
 * list is, too, whichever replica has made a change since. Where it is another, the list is counted anew.
 * Nothing is told of a list but what the statement has seen to be so.
 */
import type { RawBuilder, SelectQueryBuilder } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import {
  ListMemory,
  notePlace,
  type SeenList,
  type Stretch,
  seenList,
  stretchTo,
} from './list-memory.ts';

/** Where a list is read. */
export interface ListSource {
  readonly db: Db;
  /** What anything that can change the list replaces (`stampOf`); null where nothing is. */
  readonly stamp: RawBuilder<string> | null;
  /** The column by which the list is ordered, and which is read as the id of a row; `id` when absent. */
  readonly orderedBy?: string;
  /** Whether the least comes first; the greatest does when absent. */
  readonly isAscending?: boolean;
  /** A shorter list is read anew each time; none is when absent. */
  readonly rememberedMin?: number;
}

/** The filters of a list; which table it is of is forgotten. */
export type Filtered = SelectQueryBuilder<{ t: { id: string } }, 't', object>;
export type Selecting<Row> = (
  query: Filtered,
) => SelectQueryBuilder<{ t: { id: string } }, 't', Row>;

interface FoundPage<Row> {
  readonly rows: Row[];
  readonly total: number;
}

/** Rows that one statement found, and under which stamp; null where there were none to say it. */
interface Batch<Row> {
  readonly rows: Row[];
  readonly stamp: string | null;
}

const memories = new WeakMap<Db, ListMemory>();

/** One page, of each row what `select` names, which includes the id, and the number of rows on all pages. */
export function readPage<Row extends { id: string }>(
  { db, stamp, orderedBy = 'id', isAscending = false, rememberedMin = 0 }: ListSource,
  query: Filtered,
  page: Page,
  select: Selecting<Row>,
): Promise<FoundPage<Row>> {
  // A transaction sees changes of its own before their marks.
  const isRemembered = stamp !== null && !db.isTransaction;
  const list = new List(query, select, {
    ...{ orderedBy, isAscending },
    stamp: isRemembered ? stamp : sql<null>`null`,
  });
  if (!isRemembered) return readAnew(list, page);
  return readRemembered({ memory: memoryOf(db), rememberedMin }, list, page);
}

function memoryOf(db: Db): ListMemory {
  const known = memories.get(db);
  if (known !== undefined) return known;
  const made = new ListMemory();
  memories.set(db, made);
  return made;
}

async function readRemembered<Row extends { id: string }>(
  { memory, rememberedMin }: { readonly memory: ListMemory; readonly rememberedMin: number },
  list: List<Row>,
  page: Page,
): Promise<FoundPage<Row>> {
  const key = list.key();
  const seen = memory.find(key);
  const hit = seen && (await readSeen(list, seen, page));
  if (hit !== undefined) return hit;
  const { rows, total, stamp } = await readAnew(list, page);
  if (stamp === null || total < rememberedMin) return { rows, total };
  const found = seenList(stamp, total);
  noteEnd(found, page, rows);
  memory.keep(key, found);
  return { rows, total };
}

/** Undefined where the list is another by now. */
async function readSeen<Row extends { id: string }>(
  list: List<Row>,
  seen: SeenList,
  page: Page,
): Promise<FoundPage<Row> | undefined> {
  const isBeyond = page.offset >= seen.total;
  // A row, so that there is a stamp with it.
  const asked = isBeyond ? { limit: 1, offset: seen.total - 1 } : page;
  if (asked.offset < 0) return undefined;
  const { rows, stamp } = await list.read(stretchTo(seen, asked));
  if (stamp !== seen.stamp) return undefined;
  if (isBeyond) return { rows: [], total: seen.total };
  noteEnd(seen, page, rows);
  return { rows, total: seen.total };
}

function noteEnd(seen: SeenList, page: Page, rows: readonly { readonly id: string }[]): void {
  const last = rows.at(-1);
  if (last !== undefined) notePlace(seen, { offset: page.offset + rows.length, id: last.id });
}

/** With the stamp of rows and count; null where they are not known to be of one moment. */
async function readAnew<Row>(
  list: List<Row>,
  { offset, limit }: Page,
): Promise<FoundPage<Row> & { stamp: string | null }> {
  const { rows, stamp } = await list.read({ from: null, isUp: false, skip: offset, count: limit });
  const isEnd = rows.length < limit && (rows.length > 0 || offset === 0);
  if (isEnd) return { rows, total: offset + rows.length, stamp };
  const counted = await list.count();
  return { rows, total: counted.total, stamp: counted.stamp === stamp ? stamp : null };
}

/** The statements about one list. */
class List<Row> {
  readonly #query: Filtered;
  readonly #select: Selecting<Row>;
  readonly #orderedBy: RawBuilder<unknown>;
  readonly #isAscending: boolean;
  readonly #stamp: RawBuilder<string | null>;

  constructor(
    query: Filtered,
    select: Selecting<Row>,
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

  /** What tells its filters, and whose it is. */
  key(): string {
    const { sql: text, parameters } = this.#query.compile();
    return `${text} ${JSON.stringify(parameters)}`;
  }

  /** In the order of the list, whichever way they are read. */
  async read({ from, isUp, skip, count }: Stretch): Promise<Batch<Row>> {
    // Rows that stand behind the place, and before it the last of which it is.
    const [behind, upTo] = this.#isAscending ? (['>', '<='] as const) : (['<', '>='] as const);
    const isLeastFirst = this.#isAscending !== isUp;
    const found = await this.#select(this.#query)
      .select(this.#stamp.as('list_stamp'))
      .$if(from !== null, (rows) => rows.where(this.#orderedBy, isUp ? upTo : behind, from))
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
