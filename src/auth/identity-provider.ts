/** OpenID Connect client for sign-in: discovery, authorization code flow and back-channel logout. */
import { createHash } from 'node:crypto';
import {
  type CryptoKey,
  createRemoteJWKSet,
  importJWK,
  customFetch as jwksFetch,
  jwtVerify,
} from 'jose';
import type * as OpenId from 'openid-client';
import { type Dispatcher, request } from 'undici';
import { Pools } from '../remote/pools.ts';
import type { Proxies } from '../remote/proxies.ts';
import type { ClientProof, SignInSettings } from '../settings/groups/sign-in.ts';

/** State that the browser keeps in a cookie during sign-in. */
export interface SignInAttempt {
  readonly state: string;
  readonly nonce: string;
  /** PKCE code verifier; the provider received its digest (RFC 7636). */
  readonly verifier: string;
}

export interface ProvenIdentity {
  readonly subjectHash: Buffer;
  /** SHA-256 of the provider's session id; null when the provider sends none. */
  readonly sessionHash: Buffer | null;
  /** Null unless the provider has verified the address. */
  readonly verifiedEmail: string | null;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Sessions that the provider ends: those of one provider session, or all of an account. */
export type LogoutSubject = { readonly sessionHash: Buffer } | { readonly subjectHash: Buffer };

/** The provider's response was not acceptable; `reason` is shown to users and contains no secret. */
export class SignInRefused extends Error {
  override name = 'SignInRefused';
  readonly reason: string;

  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.reason = reason;
  }
}

/** The provider did not respond, or not with a valid response. */
export class ProviderUnavailable extends Error {
  override name = 'ProviderUnavailable';
}

const callbackPath = '/v1/sign-in/callback';
const limits = {
  connectionsMax: 4,
  connectTimeoutMs: 5_000,
  responseTimeoutMs: 10_000,
  responseBytesMax: 1024 * 1024,
};
/** Discovery metadata is fetched again after this time. */
const freshMs = 3_600_000;
/** Tolerated clock difference to the provider. */
const toleranceSeconds = 30;
/** Smaller changes between the shared clock and the machine's clock are ignored. */
const skewStepSeconds = 5;

/** `now` is in milliseconds since the epoch, by the clock shared by all replicas. */
export class IdentityProvider implements AsyncDisposable {
  readonly #settings: SignInSettings;
  readonly #pools: Pools;
  #known: { readonly config: OpenId.Configuration; readonly at: number; skew: number } | null =
    null;
  #keys: { readonly url: string; readonly find: ReturnType<typeof createRemoteJWKSet> } | null =
    null;

  constructor(settings: SignInSettings, proxies: Proxies | null) {
    this.#settings = settings;
    this.#pools = new Pools(limits, proxies);
  }

  /** Returns the provider's address for the browser and the state to keep. @throws ProviderUnavailable */
  async begin(now: number): Promise<{ address: URL; attempt: SignInAttempt }> {
    const { client, config } = await this.#open(now);
    const attempt = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
    };
    const address = client.buildAuthorizationUrl(config, {
      redirect_uri: this.#callback().href,
      scope: this.#settings.scopes,
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge_method: 'S256',
      code_challenge: await client.calculatePKCECodeChallenge(attempt.verifier),
    });
    return { address, attempt };
  }

  /**
   * Exchanges the code that the browser returned with.
   *
   * @throws SignInRefused, ProviderUnavailable
   */
  async finish(
    answered: Readonly<Record<string, string>>,
    { state, nonce, verifier }: SignInAttempt,
    now: number,
  ): Promise<ProvenIdentity> {
    const { client, config } = await this.#open(now);
    const callback = this.#callback();
    callback.search = new URLSearchParams(answered).toString();
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
    const tokens = await convertErrors(client, () =>
      client.authorizationCodeGrant(config, callback, { ...checks, idTokenExpected: true }),
    );
    const claims = tokens.claims()!;
    const hasUserInfo = config.serverMetadata().userinfo_endpoint !== undefined;
    const userInfo = hasUserInfo
      ? await convertErrors(client, () =>
          client.fetchUserInfo(config, tokens.access_token, claims.sub),
        )
      : {};
    return identityOf({ ...userInfo, ...claims });
  }

  /** The provider's logout address; null when it has none or discovery has not run yet. */
  async endAddress(): Promise<string | null> {
    const endpoint = this.#known?.config.serverMetadata().end_session_endpoint;
    if (endpoint === undefined) return null;
    const address = new URL(endpoint);
    address.searchParams.set('client_id', this.#settings.clientId);
    address.searchParams.set('post_logout_redirect_uri', this.#settings.publicUrl.href);
    return address.href;
  }

  /**
   * Validates a logout token of the provider (OpenID Connect Back-Channel Logout 1.0, 2.6).
   *
   * @throws SignInRefused, ProviderUnavailable
   */
  async verifyLogoutToken(token: string, now: number): Promise<LogoutSubject> {
    const { client, config } = await this.#open(now);
    const { issuer } = config.serverMetadata();
    const url = keysAddress(config, this.#settings);
    const options = { [jwksFetch]: this.#fetch, timeoutDuration: limits.responseTimeoutMs };
    if (this.#keys?.url !== url) {
      this.#keys = { url, find: createRemoteJWKSet(new URL(url), options) };
    }
    const { find } = this.#keys;
    const { payload } = await convertErrors(client, () =>
      jwtVerify(token, find, {
        issuer,
        audience: this.#settings.clientId,
        currentDate: new Date(now),
        clockTolerance: toleranceSeconds,
        requiredClaims: ['iat', 'jti', 'events'],
        maxTokenAge: '5 minutes',
      }),
    );
    const { events, nonce, sid, sub } = payload;
    const isLogout = typeof events === 'object' && events !== null && logoutEvent in events;
    if (!isLogout || nonce !== undefined) throw new SignInRefused('this is not a logout token');
    if (typeof sid === 'string') return { sessionHash: digest(issuer, sid) };
    if (typeof sub === 'string') return { subjectHash: digest(issuer, sub) };
    throw new SignInRefused('the logout token contains neither a session nor a subject');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pools.destroy();
  }

  #callback(): URL {
    return new URL(callbackPath, this.#settings.publicUrl);
  }

  async #open(now: number): Promise<{ client: typeof OpenId; config: OpenId.Configuration }> {
    const client = await import('openid-client');
    const skew = Math.round((now - Date.now()) / 1000);
    const known = this.#known;
    const isFresh = known !== null && now - known.at < freshMs && now >= known.at;
    if (isFresh && Math.abs(skew - known.skew) < skewStepSeconds) {
      return { client, config: known.config };
    }
    const { issuer, clientId } = this.#settings;
    const metadata = { [client.clockSkew]: skew, [client.clockTolerance]: toleranceSeconds };
    const proof = await clientAuthOf(client, this.#settings.proof);
    const isPlain = issuer.protocol === 'http:';
    const { allowInsecureRequests: plain } = client;
    const config = await convertErrors(client, () =>
      client.discovery(issuer, clientId, metadata, proof, {
        [client.customFetch]: this.#fetch,
        timeout: limits.responseTimeoutMs / 1000,
        // Verifies signatures of ID tokens even though they arrive over a trusted connection.
        execute: [client.enableNonRepudiationChecks, ...(isPlain ? [plain] : [])],
      }),
    );
    this.#known = { config, at: now, skew };
    return { client, config };
  }

  /** Uses the process's own connections, which are limited and respect the proxy settings. */
  readonly #fetch = async (
    url: string,
    { method, headers, body, signal }: Pick<RequestInit, 'method' | 'headers' | 'body' | 'signal'>,
  ): Promise<Response> => {
    const response = await request(url, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers: Object.fromEntries(new Headers(headers)),
      body: body instanceof URLSearchParams ? body.toString() : ((body ?? null) as string | null),
      signal: signal ?? null,
      dispatcher: this.#pools.poolFor(new URL(url).origin),
    });
    return toFetchResponse(response);
  };
}

/** @throws SignInRefused when there are no keys, or anybody on the path could replace them */
function keysAddress(config: OpenId.Configuration, { issuer }: SignInSettings): string {
  const { jwks_uri: url } = config.serverMetadata();
  if (url === undefined) throw new SignInRefused('the identity provider publishes no keys');
  if (issuer.protocol === 'http:' || url.startsWith('https://')) return url;
  throw new SignInRefused('the identity provider publishes its keys over plain HTTP');
}

async function toFetchResponse({
  statusCode,
  headers,
  body,
}: Dispatcher.ResponseData): Promise<Response> {
  const text = await body.text();
  const type = String(headers['content-type'] ?? '');
  const isEmpty = statusCode === 204 || statusCode === 304;
  const init = { status: statusCode, headers: { 'content-type': type } };
  return new Response(isEmpty ? null : text, init);
}

async function clientAuthOf(client: typeof OpenId, proof: ClientProof): Promise<OpenId.ClientAuth> {
  if (proof.method === 'none') return client.None();
  if (proof.method === 'private_key_jwt') {
    const { jwk, algorithm, kid } = proof.key.reveal();
    const key = (await importJWK(jwk, algorithm)) as CryptoKey;
    return client.PrivateKeyJwt(kid === null ? key : { key, kid });
  }
  const secret = proof.secret.reveal();
  const isInBody = proof.method === 'client_secret_post';
  return isInBody ? client.ClientSecretPost(secret) : client.ClientSecretBasic(secret);
}

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** Converts errors: an invalid response becomes SignInRefused, a missing one ProviderUnavailable. */
async function convertErrors<T>(client: typeof OpenId, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof client.AuthorizationResponseError) {
      throw new SignInRefused(`the identity provider returned ${safeErrorCode(error.error)}`, {
        cause: error,
      });
    }
    if (error instanceof client.ResponseBodyError && error.status < 500) {
      throw new SignInRefused(`the identity provider returned ${safeErrorCode(error.error)}`, {
        cause: error,
      });
    }
    if (isInvalidResponse(client, error)) {
      throw new SignInRefused('the response of the identity provider is invalid', { cause: error });
    }
    throw new ProviderUnavailable('the identity provider does not respond', { cause: error });
  }
}

/** Whether a token or callback is invalid, as opposed to a provider that did not respond. */
function isInvalidResponse(client: typeof OpenId, error: unknown): boolean {
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  const invalidResponseCodes: unknown[] = [
    'OAUTH_INVALID_RESPONSE',
    'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
    'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
    'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
    'OAUTH_KEY_SELECTION_FAILED',
  ];
  if (typeof code === 'string' && /^ERR_J(?:WT|WS|OSE|WKS_NO)/.test(code)) return true;
  if (invalidResponseCodes.includes(code)) return true;
  return (
    error instanceof client.ClientError && cause !== undefined && isInvalidResponse(client, cause)
  );
}

/** Error codes are short words; anything else is replaced. */
function safeErrorCode(code: string): string {
  return /^[\w.-]{1,64}$/.test(code) ? code : 'an error';
}

function identityOf(claims: Readonly<Record<string, unknown>>): ProvenIdentity {
  const { iss, sub, sid, email, given_name, family_name } = claims;
  const text = (value: unknown): string | null =>
    typeof value === 'string' && value !== '' && value.length <= 255 ? value : null;
  return {
    subjectHash: digest(String(iss), String(sub)),
    sessionHash: typeof sid === 'string' ? digest(String(iss), sid) : null,
    verifiedEmail: claims.email_verified === true ? text(email) : null,
    firstName: text(given_name),
    lastName: text(family_name),
    claims,
  };
}

function digest(issuer: string, name: string): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([issuer, name]))
    .digest();
}

/**
 * String values of a claim, which may be one or a list, also nested by a dotted path: `realm_access.roles`.
 */
export function claimTexts(claims: Readonly<Record<string, unknown>>, path: string): string[] {
  const found = Object.hasOwn(claims, path)
    ? claims[path]
    : path
        .split('.')
        .reduce<unknown>(
          (value, key) =>
            typeof value === 'object' && value !== null && Object.hasOwn(value, key)
              ? (value as Record<string, unknown>)[key]
              : undefined,
          claims,
        );
  return [found].flat().filter((one): one is string => typeof one === 'string');
}
