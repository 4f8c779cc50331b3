/** Selects the error format of an inference request. */
import type { GatewayErrorForm } from './gateway-error.ts';

/**
 * Anthropic SDKs expect their own format, and clients that delete a response expect a bare error object. `path` is
 * below `/v1`.
 */
export function errorFormOf(method: string | undefined, path: string): GatewayErrorForm {
  if (path === '/messages' || path.startsWith('/messages/')) return 'anthropic';
  return method === 'DELETE' && /^\/responses\/[^/]+\/?$/i.test(path) ? 'flat' : 'openai';
}
