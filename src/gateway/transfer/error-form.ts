/** Selects the error format of an inference request. */
import type { IncomingHttpHeaders } from 'node:http';
import type { GatewayErrorForm } from './gateway-error.ts';

/**
 * SDKs of Anthropic and Google expect their own formats, and clients that delete a response expect a bare error
 * object. `path` is canonical.
 */
export function errorFormOf(
  method: string | undefined,
  path: string,
  headers: IncomingHttpHeaders = {},
): GatewayErrorForm {
  if (path === '/messages' || path.startsWith('/messages/')) return 'anthropic';
  if (path.startsWith('/v1beta/')) return 'gemini';
  const isList = path === '/models' || path.startsWith('/models/');
  if (isList && headers['anthropic-version'] !== undefined) return 'anthropic';
  if (isList && isGoogleCaller(headers)) return 'gemini';
  return method === 'DELETE' && /^\/responses\/[^/]+\/?$/i.test(path) ? 'flat' : 'openai';
}

/** Whether the client is one of Google's: it sends the key in their header alone. */
export function isGoogleCaller({
  'x-goog-api-key': key,
  authorization,
}: IncomingHttpHeaders): boolean {
  return key !== undefined && authorization === undefined;
}
