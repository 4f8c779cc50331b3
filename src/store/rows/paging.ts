/** Knows how a page of a list is read: newest first, in a stable order, with the count of all rows. */
import type { Selectable, SelectQueryBuilder } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import { type Filtered, type ListSource, readPage, type Selecting } from './page-reader.ts';

/** Tables whose rows have an `id` that grows with time, by which every list is ordered. */
type ListedTable<Schema> = {
  [T in keyof Schema]: Schema[T] extends { id: unknown } ? T : never;
}[keyof Schema];

/**
 * The rows of one page, with these columns only, the id among them, unless null, and the number of rows on all pages.
 * `query` holds the filters only.
 */
export async function listPage<Schema, T extends ListedTable<Schema>>(
  source: ListSource,
  query: SelectQueryBuilder<Schema, T, object>,
  page: Page,
  columns: readonly string[] | null = null,
): Promise<{ rows: Selectable<Schema[T]>[]; total: number }> {
  const shown = columns?.map((name) => sql.ref(name).as(name));
  const { rows, total } = await readPage(source, query as unknown as Filtered, page, (rows) =>
    shown === undefined
      ? rows.selectAll().$castTo<{ id: string }>()
      : rows.select(shown).$castTo<{ id: string }>(),
  );
  return { rows: rows as unknown as Selectable<Schema[T]>[], total };
}

/** As {@link listPage}, of tables that are joined: `select` names what is read of each row, an `id` among it. */
export async function listJoined<Schema, T extends keyof Schema, Row extends { id: string }>(
  source: ListSource,
  query: SelectQueryBuilder<Schema, T, object>,
  page: Page,
  select: (query: SelectQueryBuilder<Schema, T, object>) => SelectQueryBuilder<Schema, T, Row>,
): Promise<{ rows: Row[]; total: number }> {
  return readPage(source, query as unknown as Filtered, page, select as unknown as Selecting<Row>);
}

/** The number of rows that the filters let through. */
export async function countRows<Schema, T extends keyof Schema>(
  query: SelectQueryBuilder<Schema, T, object>,
): Promise<number> {
  const counted = await query
    .select((eb) => eb.fn.countAll().as('total'))
    .$castTo<{ total: number }>()
    .executeTakeFirstOrThrow();
  return Number(counted.total);
}

/** A page of rows that may be large: which they are, and what they hold, read as it is asked for. */
export interface SlicedPage<Row> {
  /** Newest first. */
  readonly ids: readonly string[];
  /** Those of the ids; what was deleted meanwhile is left out. To be read once. */
  readonly rows: AsyncIterable<Row>;
  /** The number of rows on all pages. */
  readonly total: number;
}

/**
 * As {@link listPage}, for rows of which a page may be a hundred megabytes: they are weighed first, by
 * the columns named, and read a few at a time.
 */
export async function listPageInSlices<Schema, T extends TextIdTable<Schema>>(
  source: ListSource,
  query: SelectQueryBuilder<Schema, T, object>,
  page: Page,
  heavy: readonly (keyof Schema[T] & string)[],
): Promise<SlicedPage<Selectable<Schema[T]>>> {
  const { rows: sized, total } = await readPage(
    source,
    query as unknown as Filtered,
    page,
    (rows) => weighed(rows, heavy),
  );
  const ids = sized.map(({ id }) => id);
  return { ids, rows: rowsInSlices(query, sized, 'desc'), total };
}

/** All that the filters let through, oldest first, read a few at a time as {@link listPageInSlices} does. */
export async function* listAllInSlices<Schema, T extends TextIdTable<Schema>>(
  query: SelectQueryBuilder<Schema, T, object>,
  heavy: readonly (keyof Schema[T] & string)[],
): AsyncGenerator<Selectable<Schema[T]>> {
  const sized = await weighed(query, heavy).orderBy(sql.ref('id')).execute();
  yield* rowsInSlices(query, sized, 'asc');
}

/** Tables whose ids stand as text. */
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

/** What one statement fetches of rows that may be large. */
const sliceBytesMax = 1024 * 1024;

/** Neighbours that are no more bytes together than one statement fetches; a larger one stands alone. */
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
