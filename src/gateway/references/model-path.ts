/** Normalises paths with a model, the only ones whose id may contain an encoded slash (`org/name`, an ARN). */
import type { IncomingMessage } from 'node:http';

/** Clients encode the whole id, so its slash arrives as `%2F`. */
const modelPath = /^\/v1\/models\/[^/?]+(?=\?|$)/;
/** Models of Amazon Bedrock may be named by their ARN. */
const bedrockPath = /^\/model\/[^/?]+\/[a-z-]+(?=\?|$)/;

/**
 * Decodes the slashes of the id, as a provider may do, so that the path is checked in that form; null for any
 * other request. Neither form leads to objects of callers (model/endpoints): everybody may read models, and the
 * model of a request becomes a member of its body.
 */
export function plainModelTarget({
  method,
  url = '',
}: Pick<IncomingMessage, 'method' | 'url'>): string | null {
  const isRead = method === 'GET' || method === 'HEAD';
  if (!isRead && method !== 'POST') return null;
  const path = (isRead ? modelPath : bedrockPath).exec(url)?.[0];
  if (path === undefined || !/%2f/i.test(path)) return null;
  return path.replace(/%2f/gi, '/') + url.slice(path.length);
}
