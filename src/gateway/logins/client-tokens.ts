/** Obtains access tokens for providers whose integrations log in with OAuth client credentials, and caches them. */
import type { Clock } from '../../clock.ts';
import { Secret } from '../../secret.ts';
import type { Outbound } from '../../upstream/outbound.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { ClientLogin } from './client-login.ts';
import { requestToken } from './token-request.ts';

/** The login of one integration, as calls use it. */
export interface TokenSource {
  /** Differs between logins; contains no secret. */
  readonly mark: string;
  /**
   * Returns a current token; concurrent calls share one request.
   *
   * @param refused a token that the provider does not accept and that is not returned again
   * @throws GatewayError `token_unavailable`
   */
  token(refused: Secret | null): Secret | Promise<Secret>;
}

interface ClientTokensOptions {
  readonly outbound: Pick<Outbound, 'request'>;
  readonly clock: Clock;
}

const integrationsMax = 10_000;
/** A token is replaced this long before it expires, or after nine tenths of a shorter life. */
const marginMs = 60_000;
/** Life of a token whose response states none. */
const usualLifeMs = 5 * 60_000;

export class ClientTokens {
  readonly #options: ClientTokensOptions;
  readonly #sources = new Map<string, CachedToken>();

  constructor(options: ClientTokensOptions) {
    this.#options = options;
  }

  /** A changed login starts without a token. */
  sourceOf(integrationId: string, login: Secret<ClientLogin>): TokenSource {
    const existing = this.#sources.get(integrationId);
    if (existing?.has(login) === true) return existing;
    const source = new CachedToken(login, this.#options);
    this.#sources.delete(integrationId);
    this.#sources.set(integrationId, source);
    if (this.#sources.size > integrationsMax) {
      this.#sources.delete(this.#sources.keys().next().value!);
    }
    return source;
  }
}

/** Everything that decides which token is granted. */
const loginMembers = [
  'endpoint',
  'clientId',
  'clientSecret',
  'scope',
  'authMethod',
  'privateKey',
  'privateKeyId',
  'issuer',
  'resource',
  'audience',
  'subjectToken',
  'isForAssertion',
] as const satisfies (keyof ClientLogin)[];

function isSameLogin(one: ClientLogin, other: ClientLogin): boolean {
  const [own, theirs] = [one.assertedBy, other.assertedBy];
  const isSameProvider =
    own === null || theirs === null ? own === theirs : isSameLogin(own, theirs);
  return isSameProvider && loginMembers.every((name) => one[name] === other[name]);
}

class CachedToken implements TokenSource {
  readonly mark: string;
  readonly #login: Secret<ClientLogin>;
  readonly #options: ClientTokensOptions;
  #held: { readonly token: Secret; readonly usedUntil: number } | null = null;
  #pending: Promise<Secret> | null = null;

  constructor(login: Secret<ClientLogin>, options: ClientTokensOptions) {
    const { endpoint, clientId, scope, resource } = login.reveal();
    this.mark = JSON.stringify([endpoint, clientId, scope, resource]);
    this.#login = login;
    this.#options = options;
  }

  has(other: Secret<ClientLogin>): boolean {
    return other === this.#login || isSameLogin(this.#login.reveal(), other.reveal());
  }

  token(refused: Secret | null): Secret | Promise<Secret> {
    const held = this.#held;
    const isUsable = held !== null && this.#options.clock.now() < held.usedUntil;
    if (isUsable && held.token !== refused) return held.token;
    this.#pending ??= this.#request().finally(() => {
      this.#pending = null;
    });
    return this.#pending;
  }

  async #request(): Promise<Secret> {
    const { outbound, clock } = this.#options;
    const login = this.#login.reveal();
    const requestedAt = clock.now();
    this.#held = null;
    const granted = await requestToken(login, outbound, requestedAt);
    if ('fault' in granted) throw unavailable(login, granted.fault);
    const lifeMs = granted.lifeMs ?? usualLifeMs;
    const token = new Secret(granted.token, login.origin);
    this.#held = { token, usedUntil: requestedAt + lifeMs - Math.min(marginMs, lifeMs / 10) };
    return token;
  }
}

function unavailable({ origin, endpoint }: ClientLogin, fault: string): GatewayError {
  const server = URL.canParse(endpoint) ? ` from ${new URL(endpoint).host}` : '';
  const message = `The ${origin} obtains no access token${server}: ${fault}`;
  return new GatewayError('token_unavailable', message, 'provider');
}
