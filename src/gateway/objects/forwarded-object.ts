/** Rejects a request about objects that a provider stores, where the gateway would reject it for its own objects. */
import { forwardedBody, forwardedQuery } from '../../model/objects/forwarded-object.ts';
import { readParams } from '../../objects/object-params.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { OwnedPath } from '../references/owned-path.ts';

/** @throws ObjectError that names the member or the query parameter */
export function requireForwardedBounds(owned: OwnedPath, exchange: Exchange): void {
  const { kind, id, rest } = owned;
  const { method } = exchange.request;
  const body = forwardedBody({ kind, method, id, rest });
  if (body !== null && exchange.isJson) readParams(body, exchange.params);
  const query = exchange.query === '' ? null : forwardedQuery({ kind, method, id, rest });
  if (query === null) return;
  const sent = new URLSearchParams(exchange.query);
  readParams(query, { order: valuesOf(sent, 'order'), limit: valuesOf(sent, 'limit') });
}

/** Undefined when the parameter is absent. A provider may read any of several values. */
function valuesOf(query: URLSearchParams, name: string): string[] | undefined {
  return query.has(name) ? query.getAll(name) : undefined;
}
