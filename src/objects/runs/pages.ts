/** Knows how a page of rows is asked for and told. */
import type { CreatedAnchor, CreatedPage } from '../../store/rows/created-page.ts';
import { notInList, objectList, objectPageOf } from '../object-page.ts';
import type { ObjectAnswer } from '../object-request.ts';

/**
 * `find` yields what stands under an id that the page begins or ends at; `list` yields up to one more
 * than the limit.
 *
 * @throws ObjectError for what is no page, or an id of nothing
 */
export async function answerPage<Row extends CreatedAnchor>(
  query: URLSearchParams,
  rows: {
    readonly find: (id: string) => Promise<CreatedAnchor | undefined>;
    readonly list: (page: CreatedPage) => Promise<readonly Row[]>;
    readonly record: (row: Row) => { readonly id: string };
  },
): Promise<ObjectAnswer> {
  const { limit, order, after, before } = objectPageOf(query);
  const anchor = async (id: string | null, param: string): Promise<CreatedAnchor | null> => {
    if (id === null) return null;
    const row = await rows.find(id);
    if (row !== undefined) return row;
    throw notInList(param);
  };
  const page = {
    ...{ limit, order },
    after: await anchor(after, 'after'),
    before: await anchor(before, 'before'),
  };
  const found = await rows.list(page);
  return { body: objectList(found.slice(0, limit).map(rows.record), found.length > limit) };
}
