/** Moves the key in the query of a Gemini request to its header, so that no log and no provider receives it. */
import type { IncomingMessage } from 'node:http';
import { isGeminiUrl } from '../../model/endpoints/gemini-target.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

const header = 'x-goog-api-key';

/** Returns the fault of a request that sends more than one key; null for none. */
export function takeQueryKey(request: IncomingMessage): GatewayError | null {
  const { url = '' } = request;
  if (!url.includes('key=') || !isGeminiUrl(url)) return null;
  const question = url.indexOf('?');
  const query = new URLSearchParams(question < 0 ? '' : url.slice(question));
  const keys = query.getAll('key');
  if (keys.length === 0) return null;
  query.delete('key');
  const rest = query.toString().replaceAll('+', '%20');
  request.url = url.slice(0, question) + (rest === '' ? '' : `?${rest}`);
  const sent = request.headers[header];
  const [key = ''] = keys;
  if (keys.length > 1 || key === '' || (sent !== undefined && sent !== key)) {
    const message = `The query must not name several keys; send one key as ${header}`;
    return new GatewayError('invalid_request', message, 'key');
  }
  request.headers[header] = key;
  return null;
}
