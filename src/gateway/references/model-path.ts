/** Knows the one path in which a slash may stand encoded: that of a model, whose id has one in it (`org/name`). */
import type { IncomingMessage } from 'node:http';

/** Clients encode the id as a whole, so that its slash comes as `%2F`. */
const ofModel = /^\/v1\/models\/[^/?]+(?=\?|$)/;

/**
 * The target with the slashes of the id written plainly, as a provider may read it too, so that it is
 * judged as that; null for any other request. To look at a model is everybody's, whatever its id is:
 * neither way of writing leads to what callers keep (owned-kinds.ts).
 */
export function plainModelTarget({
  method,
  url = '',
}: Pick<IncomingMessage, 'method' | 'url'>): string | null {
  if (method !== 'GET' && method !== 'HEAD') return null;
  const path = ofModel.exec(url)?.[0];
  if (path === undefined || !/%2f/i.test(path)) return null;
  return path.replace(/%2f/gi, '/') + url.slice(path.length);
}
