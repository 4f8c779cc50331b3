/** Knows whose form the errors of an inference request have. */
import type { GatewayErrorForm } from './gateway-error.ts';

/**
 * Clients of Anthropic read errors in a form of their own, and whoever deletes a response gets them without
 * anything around; `path` is behind `/v1`.
 */
export function errorFormOf(method: string | undefined, path: string): GatewayErrorForm {
  if (path === '/messages' || path.startsWith('/messages/')) return 'anthropic';
  return method === 'DELETE' && /^\/responses\/[^/]+\/?$/i.test(path) ? 'flat' : 'openai';
}
