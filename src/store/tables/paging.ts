/** Knows how a page of a list is read: newest first, in a stable order, with the count of all rows. */
import type { Selectable, SelectQueryBuilder } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/paging.ts';

/** Tables whose rows have an `id` that grows with time, by which every list is ordered. */
type ListedTable<Schema> = {
  [T in keyof Schema]: Schema[T] extends { id: unknown } ? T : never;
}[keyof Schema];

/**
 * The rows of one page, with these columns only unless null, and the number of rows on all pages.
 * `query` holds the filters only.
 */
export async function listPage<Schema, T extends ListedTable<Schema>>(
  query: SelectQueryBuilder<Schema, T, object>,
  page: Page,
  columns: readonly string[] | null = null,
): Promise<{ rows: Selectable<Schema[T]>[]; total: number }> {
  const rows = await query
    .$if(columns === null, (all) => all.selectAll())
    .$if(columns !== null, (some) => some.select(columns!.map((name) => sql.ref(name).as(name))))
    .orderBy(sql.ref('id'), 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
  return { rows: rows as Selectable<Schema[T]>[], total: await countRows(query) };
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
