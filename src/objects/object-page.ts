/** Knows how objects are listed: in the order in which they were made, from one object on. */
import { ObjectError } from './object-request.ts';

export interface ObjectPage {
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  /** Ids of objects beyond which, and before which, those of the page stand; null for none. */
  readonly after: string | null;
  readonly before: string | null;
}

const limitUsual = 20;
const limitMax = 100;

/**
 * As clients of Anthropic ask for a page, of up to a thousand, in words of this house.
 *
 * @throws ObjectError for what is no page
 */
export function anthropicPageOf(query: URLSearchParams): ObjectPage {
  const asked = new URLSearchParams();
  const limit = query.get('limit');
  const isMore = limit !== null && /^\d{3,4}$/.test(limit) && Number(limit) <= 1000;
  if (limit !== null) asked.set('limit', isMore ? String(limitMax) : limit);
  const after = query.get('after_id') ?? query.get('page');
  if (after !== null) asked.set('after', after);
  const before = query.get('before_id');
  if (before !== null) asked.set('before', before);
  return objectPageOf(asked);
}

/** @throws ObjectError for what is no page */
export function objectPageOf(query: URLSearchParams): ObjectPage {
  const limit = query.get('limit') ?? String(limitUsual);
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

/** Where a page is to begin or end at what is not in its list, or not the caller's. */
export function notInList(param: string): ObjectError {
  return new ObjectError('not_found', `There is none of these, as ${param} names one`, param);
}

/** The wrapper of a list. */
export function objectList(data: readonly { readonly id?: unknown }[], hasMore: boolean) {
  const ids = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  return { object: 'list', data, ...ids, has_more: hasMore };
}
