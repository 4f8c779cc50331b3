/** Parses the paging parameters of object lists, which are ordered by creation, and builds their responses. */
import { ObjectError } from './object-request.ts';

export interface ObjectPage {
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  /** Ids of the objects after and before which the page lies, exclusive; null for none. */
  readonly after: string | null;
  readonly before: string | null;
}

const defaultLimit = 20;
const limitMax = 100;

/**
 * Parses the paging parameters of Anthropic clients, which may request up to a thousand objects.
 *
 * @throws ObjectError for invalid parameters
 */
export function parseAnthropicPage(query: URLSearchParams): ObjectPage {
  const page = new URLSearchParams();
  const limit = query.get('limit');
  const isMore = limit !== null && /^\d{3,4}$/.test(limit) && Number(limit) <= 1000;
  if (limit !== null) page.set('limit', isMore ? String(limitMax) : limit);
  const after = query.get('after_id') ?? query.get('page');
  if (after !== null) page.set('after', after);
  const before = query.get('before_id');
  if (before !== null) page.set('before', before);
  return parseObjectPage(page);
}

/** @throws ObjectError for invalid parameters */
export function parseObjectPage(query: URLSearchParams): ObjectPage {
  const limit = query.get('limit') ?? String(defaultLimit);
  const order = query.get('order') ?? 'desc';
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > limitMax) {
    throw new ObjectError('invalid_request', `limit must be from 1 to ${limitMax}`, 'limit');
  }
  if (order !== 'asc' && order !== 'desc') {
    throw new ObjectError('invalid_request', 'order must be asc or desc', 'order');
  }
  const { after, before } = { after: query.get('after'), before: query.get('before') };
  return { limit: Number(limit), order, after, before };
}

/** Error for a page that starts or ends at an object which is not in the list, or not the caller's. */
export function pageCursorNotFound(param: string): ObjectError {
  return new ObjectError('not_found', `The object that ${param} refers to does not exist`, param);
}

/** The response with a list. */
export function objectList(data: readonly { readonly id?: unknown }[], hasMore: boolean) {
  const ids = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  return { object: 'list', data, ...ids, has_more: hasMore };
}
