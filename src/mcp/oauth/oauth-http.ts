/** Sends the requests of OAuth: guarded addresses, no redirects, bounded time and size, JSON responses. */
import { readJsonObject } from '../../model/json/read-object.ts';
import { plainHttpFault, type TrustedHosts } from '../../trusted-hosts.ts';
import type { Outbound, OutboundResponse } from '../../upstream/outbound.ts';
import { OAuthFault } from './oauth-fault.ts';

export interface OAuthRequests {
  readonly outbound: Pick<Outbound, 'request'>;
  readonly trusted: TrustedHosts;
}

/** Bound of one request, from the connection to the last byte. */
export const requestTimeoutMs = 10_000;

/** Null when there is no such document. @throws OAuthFault */
export async function fetchDocument(
  requests: OAuthRequests,
  url: string,
): Promise<Record<string, unknown> | null> {
  const headers = { accept: 'application/json' };
  const response = await sendOAuthRequest(requests, { url, method: 'GET', headers, body: null });
  const { status } = response;
  if (status >= 400 && status < 500) return null;
  if (status !== 200) throw new OAuthFault(`${shortUrl(url)} responds with ${status}`);
  const document = readJsonObject(response.body.toString('utf8'));
  if (document === null) throw new OAuthFault(`${shortUrl(url)} responds with no JSON object`);
  return document;
}

export interface SentDocument {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Posts a body and returns the JSON object of a success. @throws OAuthFault with the code of an OAuth error */
export async function postForDocument(
  requests: OAuthRequests,
  { url, headers, body }: SentDocument,
): Promise<Record<string, unknown>> {
  const response = await sendOAuthRequest(requests, {
    url,
    method: 'POST',
    headers: { accept: 'application/json', ...headers },
    body: Buffer.from(body),
  });
  const { status } = response;
  const document = readJsonObject(response.body.toString('utf8'));
  if (status >= 200 && status < 300 && document !== null) return document;
  const code = status >= 400 && status < 500 ? errorCodeOf(document) : null;
  const reason = code === null ? '' : ` (${code})`;
  throw new OAuthFault(`${shortUrl(url)} responds with ${status}${reason}`, code);
}

interface SentRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body: Buffer | null;
}

/** @throws OAuthFault when there is no complete response */
export async function sendOAuthRequest(
  { outbound, trusted }: OAuthRequests,
  request: SentRequest,
): Promise<OutboundResponse> {
  requireTlsOrTrust(request.url, trusted);
  try {
    return await outbound.request({ ...request, timeoutMs: requestTimeoutMs });
  } catch (error) {
    const message = `${shortUrl(request.url)}: ${(error as Error).message}`;
    throw new OAuthFault(message, null, { cause: error });
  }
}

/** Tokens and codes pass no network in plain text. @throws OAuthFault */
export function requireTlsOrTrust(url: string, trusted: TrustedHosts): void {
  const fault = plainHttpFault(url, trusted);
  if (fault !== null) throw new OAuthFault(`${shortUrl(url)} ${fault}`);
}

/** Origin and path of a URL; queries may contain what is not for every reader. */
export function shortUrl(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? 'an address that is no URL' : parsed.origin + parsed.pathname;
}

/** Quotes only the registered form of an error code. */
function errorCodeOf(document: Record<string, unknown> | null): string | null {
  const code = document?.error;
  return typeof code === 'string' && /^[a-z_]{1,64}$/.test(code) ? code : null;
}
