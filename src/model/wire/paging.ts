/** Defines the paging of lists (docs/reference/api.md, Paging): query parameters, bounds and the response wrapper. */
import { z } from 'zod';
import { type ListItems, StreamedList } from './streamed-list.ts';
import { validationError } from './validation-error.ts';

/** The rows to fetch: at most `limit`, starting at `offset`. */
export interface Page {
  readonly limit: number;
  readonly offset: number;
}

const pageSizeDefault = 100;
const currentPageMax = 999_999_999;

/** A query parameter that is a whole number in decimal digits. */
export function wholeNumberParameter(min: number, max: number) {
  return z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .meta({ type: 'integer', minimum: min, maximum: max, pattern: undefined });
}

/** Query fields of a paged list: `page_size` from 1, `current_page` from 0. Spread it into a query schema. */
export function pageQuery(bounds: { sizeDefault?: number; sizeMax?: number } = {}) {
  const { sizeDefault = pageSizeDefault, sizeMax = pageSizeDefault } = bounds;
  return {
    page_size: wholeNumberParameter(1, sizeMax).default(sizeDefault),
    current_page: wholeNumberParameter(0, currentPageMax).default(0),
  };
}

/** Like {@link pageQuery}, for lists whose clients write the names in camel case or snake case. */
export function pageQueryInBothSpellings() {
  const size = wholeNumberParameter(1, pageSizeDefault).optional();
  const current = wholeNumberParameter(0, currentPageMax).optional();
  return { pageSize: size, currentPage: current, page_size: size, current_page: current };
}

/**
 * Returns the rows that a query of {@link pageQueryInBothSpellings} requests.
 *
 * @throws ApiError `invalid` when both spellings of a parameter differ in value.
 */
export function toPageFromBothSpellings(query: PageQueryInBothSpellings): Page {
  const merge = <T>(name: string, snake: T | undefined, camel: T | undefined): T | undefined => {
    if (snake === undefined || camel === undefined || snake === camel) return snake ?? camel;
    throw validationError({ path: [name], message: 'has two different values' });
  };
  return toPage({
    page_size: merge('page_size', query.page_size, query.pageSize) ?? pageSizeDefault,
    current_page: merge('current_page', query.current_page, query.currentPage) ?? 0,
  });
}

type PageQueryInBothSpellings = z.infer<z.ZodObject<ReturnType<typeof pageQueryInBothSpellings>>>;

const pageMax = 1_000_000;

/** Query fields of a list whose `page` counts from 1; some clients send the usual `current_page` instead. */
export function pageQueryFromOne(sizeMax: number) {
  return {
    page: wholeNumberParameter(1, pageMax).optional(),
    current_page: wholeNumberParameter(0, pageMax - 1).optional(),
    page_size: wholeNumberParameter(1, sizeMax).default(pageSizeDefault),
  };
}

/**
 * Returns the rows that a query of {@link pageQueryFromOne} requests.
 *
 * @throws ApiError `invalid` when `page` and `current_page` name different pages
 */
export function toPageFromOne(query: PageQueryFromOne): Page {
  const { page, current_page = (page ?? 1) - 1, page_size } = query;
  if (page !== undefined && page - 1 !== current_page) {
    const message = 'counts from 1 and differs from current_page, which counts from 0; send one';
    throw validationError({ path: ['page'], message });
  }
  return toPage({ page_size, current_page });
}

type PageQueryFromOne = z.infer<z.ZodObject<ReturnType<typeof pageQueryFromOne>>>;

/** Returns the rows that a query of {@link pageQuery} requests. */
export function toPage(query: { page_size: number; current_page: number }): Page {
  return { limit: query.page_size, offset: query.page_size * query.current_page };
}

/** The wrapper of most lists; `total` counts the items of all pages. */
export function listReply<T>(data: ListItems<T>, total: number) {
  return new StreamedList<ListBody<T>>({ object: 'list', total }, 'data', data);
}

/** Like {@link listReply}, with `has_more`, which is true when a further page has items. */
export function pageReply<T>(data: ListItems<T>, page: Page, { rows, total }: PageOfRows) {
  const has_more = page.offset + rows.length < total;
  const before = { object: 'list', total };
  return new StreamedList<ListBody<T> & { has_more: boolean }>(before, 'data', data, { has_more });
}

interface ListBody<T> {
  readonly object: 'list';
  readonly total: number;
  readonly data: T[];
}

/** The rows of one page and the number of rows on all pages. */
interface PageOfRows {
  readonly rows: readonly unknown[];
  readonly total: number;
}

/** Response schema of {@link listReply} for the schema of an item. */
export function listSchema<T extends z.ZodType>(item: T) {
  return z.object({ object: z.literal('list'), total: z.int().min(0), data: z.array(item) });
}

/** Response schema of {@link pageReply} for the schema of an item. */
export function pageSchema<T extends z.ZodType>(item: T) {
  return listSchema(item).extend({ has_more: z.boolean() });
}
