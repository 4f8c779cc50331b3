/** Reads a page of a list: newest first, in a stable order, with the number of all rows. */
import type { Selectable, SelectQueryBuilder } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import {
  type ColumnSelection,
  type FilteredQuery,
  type ListSource,
  readPage,
} from './page-reader.ts';

/** Tables with an `id` that grows with time, which orders every list. */
type ListedTable<Schema> = {
  [T in keyof Schema]: Schema[T] extends { id: unknown } ? T : never;
}[keyof Schema];

/**
 * The rows of one page and the number of rows on all pages. `query` contains only the filters. `columns`
 * must include the id; null reads all columns.
 */
export async function listPage<Schema, T extends ListedTable<Schema>>(
  source: ListSource,
  query: SelectQueryBuilder<Schema, T, object>,
  page: Page,
  columns: readonly string[] | null = null,
): Promise<{ rows: Selectable<Schema[T]>[]; total: number }> {
  const selected = columns?.map((name) => sql.ref(name).as(name));
  const { rows, total } = await readPage(source, query as unknown as FilteredQuery, page, (rows) =>
    selected === undefined
      ? rows.selectAll().$castTo<{ id: string }>()
      : rows.select(selected).$castTo<{ id: string }>(),
  );
  return { rows: rows as unknown as Selectable<Schema[T]>[], total };
}

/** As {@link listPage}, for joined tables; `select` adds the columns, including an `id`. */
export async function listJoined<Schema, T extends keyof Schema, Row extends { id: string }>(
  source: ListSource,
  query: SelectQueryBuilder<Schema, T, object>,
  page: Page,
  select: (query: SelectQueryBuilder<Schema, T, object>) => SelectQueryBuilder<Schema, T, Row>,
): Promise<{ rows: Row[]; total: number }> {
  return readPage(
    source,
    query as unknown as FilteredQuery,
    page,
    select as unknown as ColumnSelection<Row>,
  );
}

/** The number of rows that match the filters. */
export async function countRows<Schema, T extends keyof Schema>(
  query: SelectQueryBuilder<Schema, T, object>,
): Promise<number> {
  const counted = await query
    .select((eb) => eb.fn.countAll().as('total'))
    .$castTo<{ total: number }>()
    .executeTakeFirstOrThrow();
  return Number(counted.total);
}

/** A page of rows that may be large: their ids, and their contents read on iteration. */
export interface SlicedPage<Row> {
  /** Newest first. */
  readonly ids: readonly string[];
  /** Rows of the ids, without rows deleted in the meantime. Can be iterated once. */
  readonly rows: AsyncIterable<Row>;
  /** The number of rows on all pages. */
  readonly total: number;
}

/**
 * As {@link listPage}, for rows of which a page may be a hundred megabytes. First measures the rows by
 * their `heavy` columns, then reads them in batches of limited size.
 */
export async function listPageInSlices<Schema, T extends TextIdTable<Schema>>(
  source: ListSource,
  query: SelectQueryBuilder<Schema, T, object>,
  page: Page,
  heavy: readonly (keyof Schema[T] & string)[],
): Promise<SlicedPage<Selectable<Schema[T]>>> {
  const { rows: sized, total } = await readPage(
    source,
    query as unknown as FilteredQuery,
    page,
    (rows) => weighed(rows, heavy),
  );
  const ids = sized.map(({ id }) => id);
  return { ids, rows: rowsInSlices(query, sized, 'desc'), total };
}

/** All rows that match the filters, oldest first, in batches as by {@link listPageInSlices}. */
export async function* listAllInSlices<Schema, T extends TextIdTable<Schema>>(
  query: SelectQueryBuilder<Schema, T, object>,
  heavy: readonly (keyof Schema[T] & string)[],
): AsyncGenerator<Selectable<Schema[T]>> {
  const sized = await weighed(query, heavy).orderBy(sql.ref('id')).execute();
  yield* rowsInSlices(query, sized, 'asc');
}

/** Tables with ids stored as text. */
type TextIdTable<Schema> = {
  [T in keyof Schema]: Schema[T] extends { id: string } ? T : never;
}[keyof Schema];

function weighed<Schema, T extends TextIdTable<Schema>>(
  query: SelectQueryBuilder<Schema, T, object>,
  heavy: readonly string[],
) {
  const lengths = heavy.map((column) => sql`coalesce(octet_length(${sql.ref(column)}), 0)`);
  return query
    .select([
      sql.ref<string>('id').as('id'),
      sql<number>`${sql.join(lengths, sql` + `)}`.as('bytes'),
    ])
    .$castTo<{ id: string; bytes: number }>();
}

async function* rowsInSlices<Schema, T extends TextIdTable<Schema>>(
  query: SelectQueryBuilder<Schema, T, object>,
  sized: readonly { readonly id: string; readonly bytes: number }[],
  order: 'asc' | 'desc',
): AsyncGenerator<Selectable<Schema[T]>> {
  for (const slice of slicesOfBytes(sized)) {
    const ids = slice.map(({ id }) => id);
    const rows = query.selectAll().where(sql.ref('id'), 'in', ids).orderBy(sql.ref('id'), order);
    yield* (await rows.execute()) as Selectable<Schema[T]>[];
  }
}

/** Most bytes of large rows that one statement reads. */
const sliceBytesMax = 1024 * 1024;

/** Groups neighbouring rows up to {@link sliceBytesMax}; a larger row is a group of its own. */
export function* slicesOfBytes<T extends { readonly bytes: number }>(
  sized: readonly T[],
): Generator<T[]> {
  let slice: T[] = [];
  let bytes = 0;
  for (const one of sized) {
    if (slice.length > 0 && bytes + one.bytes > sliceBytesMax) {
      yield slice;
      slice = [];
      bytes = 0;
    }
    slice.push(one);
    bytes += one.bytes;
  }
  if (slice.length > 0) yield slice;
}
