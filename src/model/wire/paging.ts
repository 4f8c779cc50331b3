/** Knows how lists are cut into pages (docs/reference/api.md, Paging): query names, bounds, and the wrapper of an answer. */
import { z } from 'zod';
import { type Items, LongList } from './long-list.ts';
import { validationError } from './validation-error.ts';

/** Rows to fetch: at most `limit` from `offset` on. */
export interface Page {
  readonly limit: number;
  readonly offset: number;
}

const pageSizeDefault = 100;
const currentPageMax = 999_999_999;

/** A query parameter that is a whole number in plain digits. */
export function wholeNumber(min: number, max: number) {
  return z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .meta({ type: 'integer', minimum: min, maximum: max, pattern: undefined });
}

/** Query fields of a paged list: `page_size` from 1, `current_page` from 0. Spread into a query schema. */
export function pageQuery(bounds: { sizeDefault?: number; sizeMax?: number } = {}) {
  const { sizeDefault = pageSizeDefault, sizeMax = pageSizeDefault } = bounds;
  return {
    page_size: wholeNumber(1, sizeMax).default(sizeDefault),
    current_page: wholeNumber(0, currentPageMax).default(0),
  };
}

/** As {@link pageQuery}, for lists whose clients write the names in either of two ways. */
export function pageQueryEitherWay() {
  const size = wholeNumber(1, pageSizeDefault).optional();
  const current = wholeNumber(0, currentPageMax).optional();
  return { pageSize: size, currentPage: current, page_size: size, current_page: current };
}

/**
 * The rows that a query of {@link pageQueryEitherWay} asks for.
 *
 * @throws ApiError `invalid` for one thing said in both ways, differently.
 */
export function toPageEitherWay(query: PageEitherWay): Page {
  const one = <T>(name: string, given: T | undefined, other: T | undefined): T | undefined => {
    if (given === undefined || other === undefined || given === other) return given ?? other;
    throw validationError({ path: [name], message: 'is given twice, differently' });
  };
  return toPage({
    page_size: one('page_size', query.page_size, query.pageSize) ?? pageSizeDefault,
    current_page: one('current_page', query.current_page, query.currentPage) ?? 0,
  });
}

type PageEitherWay = z.infer<z.ZodObject<ReturnType<typeof pageQueryEitherWay>>>;

/** The rows that a query of {@link pageQuery} asks for. */
export function toPage(query: { page_size: number; current_page: number }): Page {
  return { limit: query.page_size, offset: query.page_size * query.current_page };
}

/** The wrapper of nearly every list; `total` counts the items of all pages. */
export function listReply<T>(data: Items<T>, total: number) {
  return new LongList<ListBody<T>>({ object: 'list', total }, 'data', data);
}

/** As {@link listReply}, for lists that also say whether a further page has items. */
export function pageReply<T>(data: Items<T>, page: Page, { rows, total }: FoundPage) {
  const has_more = page.offset + rows.length < total;
  const before = { object: 'list', total };
  return new LongList<ListBody<T> & { has_more: boolean }>(before, 'data', data, { has_more });
}

interface ListBody<T> {
  readonly object: 'list';
  readonly total: number;
  readonly data: T[];
}

/** The rows of one page, and how many there are on all. */
interface FoundPage {
  readonly rows: readonly unknown[];
  readonly total: number;
}

/** Response schema of {@link listReply} around an item's schema. */
export function listOf<T extends z.ZodType>(item: T) {
  return z.object({ object: z.literal('list'), total: z.int().min(0), data: z.array(item) });
}

/** Response schema of {@link pageReply} around an item's schema. */
export function pageOf<T extends z.ZodType>(item: T) {
  return listOf(item).extend({ has_more: z.boolean() });
}
