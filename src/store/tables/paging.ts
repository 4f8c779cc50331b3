/** Knows how a page of a list is read: newest first, in a stable order, with the count of all rows. */
import type { Selectable, SelectQueryBuilder } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/paging.ts';
import type { Tables } from '../connection/db.ts';

/** Tables whose rows have `created_at` and `id`, by which every list is ordered. */
type ListedTable = {
  [T in keyof Tables]: Tables[T] extends { id: unknown; created_at: unknown } ? T : never;
}[keyof Tables];

/** The rows of one page and the number of rows on all pages. `query` holds the filters only. */
export async function listPage<T extends ListedTable>(
  query: SelectQueryBuilder<Tables, T, object>,
  page: Page,
): Promise<{ rows: Selectable<Tables[T]>[]; total: number }> {
  const rows = await query
    .selectAll()
    .orderBy(sql.ref('created_at'), 'desc')
    .orderBy(sql.ref('id'))
    .limit(page.limit)
    .offset(page.offset)
    .execute();
  const counted = await query
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return { rows: rows as Selectable<Tables[T]>[], total: Number(counted.total) };
}
