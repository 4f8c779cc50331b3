/** Normalises the path of a model, the only path whose id may contain an encoded slash (`org/name`). */
import type { IncomingMessage } from 'node:http';

/** Clients encode the whole id, so its slash arrives as `%2F`. */
const modelPath = /^\/v1\/models\/[^/?]+(?=\?|$)/;

/**
 * Decodes the slashes of the id, as a provider may do, so that the path is checked in that form; null for any
 * other request. Everybody may read models, and neither form leads to objects of callers (model/endpoints).
 */
export function plainModelTarget({
  method,
  url = '',
}: Pick<IncomingMessage, 'method' | 'url'>): string | null {
  if (method !== 'GET' && method !== 'HEAD') return null;
  const path = modelPath.exec(url)?.[0];
  if (path === undefined || !/%2f/i.test(path)) return null;
  return path.replace(/%2f/gi, '/') + url.slice(path.length);
}
