/** Knows how a resource's version travels: out as ETag, back as `If-Match`. */
import { Reply } from '../../http/route.ts';
import { ApiError } from '../../model/errors.ts';
import type { AdminRequest } from './deps.ts';

/** Answers a record with its version as ETag, for the `If-Match` of a later update. */
export function versioned<Body>(record: Body, row: { readonly version: number }): Reply<Body> {
  return new Reply(200, record, { etag: `"${row.version}"` });
}

/**
 * Refuses an update made from an older version than the stored one.
 *
 * @throws ApiError `stale` (412) when `If-Match` names another version.
 */
export function requireVersion(request: Pick<AdminRequest, 'ifMatch'>, version: number): void {
  if (request.ifMatch !== null && request.ifMatch !== version) throw new ApiError('stale');
}
