/** Requests tokens: exchanges codes and uses refresh tokens. */
import { Secret } from '../../secret.ts';
import { readScope } from './challenge.ts';
import type { OAuthClient } from './oauth-client.ts';
import { OAuthFault } from './oauth-fault.ts';
import { type OAuthRequests, postForDocument, shortUrl } from './oauth-http.ts';

export interface GrantedTokens {
  readonly accessToken: Secret;
  /** Null when the server issued none. */
  readonly refreshToken: Secret | null;
  /** Milliseconds since the epoch; null when the server names no life. */
  readonly expiresAt: number | null;
  readonly scope: string | null;
}

export interface TokenRequest {
  readonly url: string;
  readonly client: OAuthClient;
  /** Parameters without those of the client. */
  readonly parameters: Readonly<Record<string, string>>;
}

const secondsMax = 10 * 366 * 86_400;

/** @throws OAuthFault */
export async function requestTokens(
  requests: OAuthRequests,
  { url, client, parameters }: TokenRequest,
  now: number,
): Promise<GrantedTokens> {
  const document = await postForDocument(requests, { url, ...formOf(client, parameters) });
  const at = shortUrl(url);
  const { access_token: token, token_type: type, expires_in: seconds } = document;
  if (!isToken(token) || String(type).toLowerCase() !== 'bearer') {
    throw new OAuthFault(`${at} responds with no bearer token`);
  }
  const { refresh_token: refresh } = document;
  const isLife = typeof seconds === 'number' && seconds >= 0 && seconds <= secondsMax;
  return {
    accessToken: new Secret(token, `a token of ${at}`),
    refreshToken: isToken(refresh) ? new Secret(refresh, `a refresh token of ${at}`) : null,
    expiresAt: isLife ? now + seconds * 1000 : null,
    scope: readScope(document.scope),
  };
}

/** The headers and the body of a request that the client authenticates. */
export function formOf(client: OAuthClient, parameters: Readonly<Record<string, string>>) {
  const { id, secret, authMethod } = client;
  const form = new URLSearchParams(parameters);
  const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' };
  if (authMethod === 'client_secret_basic' && secret !== null) {
    const pair = `${formEncoded(id)}:${formEncoded(secret.reveal())}`;
    headers.authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
  } else {
    form.set('client_id', id);
    if (authMethod === 'client_secret_post' && secret !== null) {
      form.set('client_secret', secret.reveal());
    }
  }
  return { headers, body: form.toString() };
}

/** RFC 6749, Section 2.3.1. */
function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}

/** A token that fits into a header and into a row. */
function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]{1,16384}$/.test(value);
}
