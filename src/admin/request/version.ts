/** Sends a resource's version as ETag and checks it against `If-Match`. */
import { Reply } from '../../http/routes/route.ts';
import { ApiError } from '../../model/wire/errors.ts';
import type { AdminRequest } from './deps.ts';

/** Responds with a record and its version as ETag, for the `If-Match` of a later update. */
export function withVersionTag<Body>(record: Body, row: { readonly version: number }): Reply<Body> {
  return new Reply(200, record, { etag: `"${row.version}"` });
}

/** @throws ApiError `stale` (412) when `If-Match` names another version than the stored one */
export function requireVersion(request: Pick<AdminRequest, 'ifMatch'>, version: number): void {
  if (request.ifMatch !== null && request.ifMatch !== version) throw new ApiError('stale');
}
