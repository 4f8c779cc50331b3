/** Authenticates callers: finds the key or token in the headers and checks that it is valid now. */
import type { IncomingMessage } from 'node:http';
import { toRefusedCredential } from '../../auth/refused-credentials.ts';
import { grantsScope } from '../../model/people/scopes.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { ReadHeader } from './exchange.ts';
import type { GatewayKey, GatewayKeys } from './gateway-key.ts';
import { type Audiences, type GatewayTokens, isToken } from './gateway-token.ts';

/** The credentials in a request. */
export interface SentCredentials {
  /** The key or token of the gateway. */
  readonly key: string | null;
  /** The provider's credential, which is recognised only if the gateway key has its own header. */
  readonly credential: string | null;
}

export interface CallerSources {
  readonly keys: GatewayKeys;
  /** Null when tokens are not accepted. */
  readonly tokens: GatewayTokens | null;
}

/** The scope that model requests need. */
const completionScope = 'completions.write';

/**
 * The key is `x-gateway-api-key`, else the bearer token, else `x-api-key`, which Anthropic SDKs send, or
 * `x-goog-api-key`, which those of Google send, or the access key with which SDKs of AWS sign. With `x-gateway-api-key`, the other headers are the credential of
 * the provider, unless they repeat the key, as some clients do.
 */
export function credentialsOf({ headers }: IncomingMessage, header: ReadHeader): SentCredentials {
  const { authorization, 'x-api-key': apiKey, 'x-goog-api-key': googleKey } = headers;
  const bearer = bearerOf(authorization);
  const plain = textOf(apiKey) ?? textOf(googleKey);
  const own = header('api-key');
  if (own !== null) {
    const theirs = [bearer, plain].find((value) => value !== null && value !== own);
    return { key: own, credential: theirs ?? null };
  }
  return { key: bearer ?? plain ?? accessKeyOf(authorization), credential: null };
}

/** The access key of a signature of AWS. The signature is not verified, because the secret is not stored. */
function accessKeyOf(header: string | undefined): string | null {
  return /^AWS4-HMAC-SHA256 Credential=([^/,\s]{1,512})\//.exec(header ?? '')?.[1] ?? null;
}

function textOf(value: string | string[] | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** The bearer token of an Authorization header; null for none. */
export function bearerOf(header: string | undefined): string | null {
  if (header === undefined) return null;
  const space = header.indexOf(' ');
  if (space < 0 || header.slice(0, space).toLowerCase() !== 'bearer') return null;
  const value = header.slice(space + 1);
  return value === '' ? null : value;
}

/** @throws GatewayError when the key is unknown, expired or lacks the scope */
export function authenticate(
  { keys, tokens }: CallerSources,
  sent: Pick<SentCredentials, 'key'>,
  now: number,
  scope = completionScope,
  audiences?: Audiences,
): GatewayKey | Promise<GatewayKey> {
  if (sent.key === null) {
    const hint = 'send it as a bearer token or as x-gateway-api-key';
    throw new GatewayError('invalid_api_key', `No API key was sent: ${hint}`);
  }
  if (tokens !== null && isToken(sent.key)) {
    const result = tokens.find(sent.key, now, audiences);
    return result instanceof Promise
      ? result.then((key) => requireUsableKey(key, now, scope))
      : requireUsableKey(result, now, scope);
  }
  const result = keys.find(sent.key, now);
  return result instanceof Promise
    ? result.then((key) => requireUsableKey(key, now, scope))
    : requireUsableKey(result, now, scope);
}

/** @throws GatewayError when the key is unknown, expired or lacks the scope */
export function requireUsableKey(
  key: GatewayKey | undefined,
  now: number,
  scope = completionScope,
): GatewayKey {
  if (key === undefined) throw unknownKey();
  if (key.status === 'expired' || (key.endsAtMs !== null && key.endsAtMs <= now)) {
    const { organisationId, id: subjectId } = key;
    const whose = { organisationId, subjectId };
    const refused = toRefusedCredential({ credential: 'api_key', reason: 'expired', ...whose });
    throw new GatewayError('api_key_expired', 'The API key has expired', null, { refused });
  }
  if (!grantsScope(key.scopes, scope)) {
    throw new GatewayError(
      'scope_missing',
      `The ${key.kind === 'token' ? 'token' : 'API key'} lacks the scope ${scope}`,
    );
  }
  return key;
}

const unknown = toRefusedCredential({ credential: 'api_key', reason: 'unknown' });

function unknownKey(): GatewayError {
  return new GatewayError('invalid_api_key', 'The API key is not valid at this gateway', null, {
    refused: unknown,
  });
}
