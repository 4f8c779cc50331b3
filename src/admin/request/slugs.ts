/** Assigns slugs that are unique within the organisation. */
import { ApiError } from '../../model/wire/errors.ts';
import { makeSlug, type SlugForm } from '../../model/wire/slug-forms.ts';
import type { Db } from '../../store/connection/db.ts';
import { isDuplicateEntry } from '../../store/rows/duplicate.ts';

/**
 * Writes an update of a row whose new slug may be taken.
 *
 * @throws ApiError `conflict` when it is
 */
export function writeUnderSlug<Columns extends { readonly slug?: string }>(
  write: (tx: Db, organisationId: string, id: string, columns: Columns) => Promise<void>,
) {
  return async (tx: Db, organisationId: string, id: string, columns: Columns): Promise<void> => {
    try {
      await write(tx, organisationId, id, columns);
    } catch (error) {
      if (columns.slug === undefined || !isDuplicateEntry(error)) throw error;
      throw new ApiError('conflict', undefined, 'slug');
    }
  };
}

/**
 * With 100,000 equal names one generated slug in 168 is taken, so ten collisions in a row do not happen.
 */
const attemptsMax = 10;

/**
 * Inserts the row with the chosen slug, or with one generated from its name and six random digits. A
 * generated slug that is taken is replaced by another.
 *
 * @throws ApiError `conflict` when the chosen slug is taken
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
      // Only the statement was rolled back; the transaction goes on.
      if (!isDuplicateEntry(error)) throw error;
      if (chosen !== undefined) throw new ApiError('conflict', undefined, 'slug');
      if (attempt === attemptsMax) throw error;
    }
  }
}
