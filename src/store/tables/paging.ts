/** Knows how a page of a list is read: newest first, in a stable order, with the count of all rows. */
import type { Selectable, SelectQueryBuilder } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/paging.ts';

/** Tables whose rows have an `id` that grows with time, by which every list is ordered. */
type ListedTable<Schema> = {
  [T in keyof Schema]: Schema[T] extends { id: unknown } ? T : never;
}[keyof Schema];

/** The rows of one page and the number of rows on all pages. `query` holds the filters only. */
export async function listPage<Schema, T extends ListedTable<Schema>>(
  query: SelectQueryBuilder<Schema, T, object>,
  page: Page,
): Promise<{ rows: Selectable<Schema[T]>[]; total: number }> {
  const rows = await query
    .selectAll()
    .orderBy(sql.ref('id'), 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
  const counted = await query
    .select((eb) => eb.fn.countAll().as('total'))
    .$castTo<{ total: number }>()
    .executeTakeFirstOrThrow();
  return { rows: rows as Selectable<Schema[T]>[], total: Number(counted.total) };
}
