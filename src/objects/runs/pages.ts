/** Answers a request for a page of rows. */
import type { CreatedAnchor, CreatedPage } from '../../store/rows/created-page.ts';
import { objectList, pageCursorNotFound, parseObjectPage } from '../object-page.ts';
import type { ObjectResponse } from '../object-request.ts';

/**
 * `find` reads the row of an id in the paging parameters; `list` returns at most one row more than the
 * limit.
 *
 * @throws ObjectError for invalid parameters or an unknown id
 */
export async function respondWithPage<Row extends CreatedAnchor>(
  query: URLSearchParams,
  rows: {
    readonly find: (id: string) => Promise<CreatedAnchor | undefined>;
    readonly list: (page: CreatedPage) => Promise<readonly Row[]>;
    readonly record: (row: Row) => { readonly id: string };
  },
): Promise<ObjectResponse> {
  const { limit, order, after, before } = parseObjectPage(query);
  const anchor = async (id: string | null, param: string): Promise<CreatedAnchor | null> => {
    if (id === null) return null;
    const row = await rows.find(id);
    if (row !== undefined) return row;
    throw pageCursorNotFound(param);
  };
  const page = {
    limit,
    order,
    after: await anchor(after, 'after'),
    before: await anchor(before, 'before'),
  };
  const result = await rows.list(page);
  return { body: objectList(result.slice(0, limit).map(rows.record), result.length > limit) };
}
