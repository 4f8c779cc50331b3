/** Knows how a new resource comes by a slug that no other of its organisation has. */
import { ApiError } from '../../model/errors.ts';
import { makeSlug, type SlugForm } from '../../model/slug.ts';
import { isDuplicateEntry } from '../../store/tables/duplicate.ts';

/** Beside 100,000 whose names begin alike, one made slug in 168 is taken, and never so many in a row. */
const attemptsMax = 10;

/**
 * Yields the row as `insert` has taken it: under the slug that the caller chose, or under one made of
 * its name. A made one is six digits by chance, of which two are alike some day; another is made then.
 *
 * @throws ApiError `conflict` when the chosen slug is taken.
 */
export async function insertUnderSlug<Row extends { readonly name: string }>(
  form: SlugForm,
  chosen: string | undefined,
  row: Row,
  insert: (row: Row & { slug: string }) => Promise<void>,
): Promise<Row & { slug: string }> {
  for (let attempt = 1; ; attempt++) {
    const named = { ...row, slug: chosen ?? makeSlug(form, row.name) };
    try {
      await insert(named);
      return named;
    } catch (error) {
      // The statement alone was undone: the transaction goes on.
      if (!isDuplicateEntry(error)) throw error;
      if (chosen !== undefined) throw new ApiError('conflict', undefined, 'slug');
      if (attempt === attemptsMax) throw error;
    }
  }
}
