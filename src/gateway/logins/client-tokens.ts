/** Obtains access tokens for providers whose integrations log in, and caches them. */
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../clock.ts';
import { Secret } from '../../secret.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import type { Outbound } from '../../upstream/outbound.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { requestCloudToken } from './cloud-token.ts';
import type { GrantedToken } from './granted-token.ts';
import type { OwnIdentity } from './own-identity.ts';
import type { ProviderLogin } from './provider-login.ts';
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
  /** The identity of the gateway itself; absent where logins never use it. */
  readonly identity?: OwnIdentity;
  /** Hosts that the operator trusts with that identity. */
  readonly trusted?: TrustedHosts;
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
  sourceOf(integrationId: string, login: Secret<ProviderLogin>): TokenSource {
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

class CachedToken implements TokenSource {
  readonly mark: string;
  readonly #login: Secret<ProviderLogin>;
  readonly #options: ClientTokensOptions;
  #held: { readonly token: Secret; readonly usedUntil: number } | null = null;
  #pending: Promise<Secret> | null = null;

  constructor(login: Secret<ProviderLogin>, options: ClientTokensOptions) {
    this.mark = markOf(login.reveal());
    this.#login = login;
    this.#options = options;
  }

  has(other: Secret<ProviderLogin>): boolean {
    if (other === this.#login) return true;
    return isDeepStrictEqual(other.reveal(), this.#login.reveal());
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
    const { clock } = this.#options;
    const login = this.#login.reveal();
    const requestedAt = clock.now();
    this.#held = null;
    const granted = await this.#grant(login, requestedAt);
    if ('fault' in granted) throw unavailable(login, granted.fault);
    const lifeMs = granted.lifeMs ?? usualLifeMs;
    const token = new Secret(granted.token, login.origin);
    this.#held = { token, usedUntil: requestedAt + lifeMs - Math.min(marginMs, lifeMs / 10) };
    return token;
  }

  #grant(login: ProviderLogin, now: number): Promise<GrantedToken> {
    const { outbound, identity = null, trusted = [] } = this.#options;
    return 'kind' in login
      ? requestCloudToken(login, { outbound, identity, trusted }, now)
      : requestToken(login, outbound, now);
  }
}

/** Members of a login that are no secrets and decide which token is granted. */
function markOf(login: ProviderLogin): string {
  const names = [
    'endpoint',
    'clientId',
    'scope',
    'resource',
    'email',
    'audience',
    'kind',
    'origin',
  ];
  const members = login as unknown as Readonly<Record<string, unknown>>;
  return JSON.stringify(names.map((name) => members[name] ?? null));
}

function unavailable({ origin, endpoint }: ProviderLogin, fault: string): GatewayError {
  const server = URL.canParse(endpoint) ? ` from ${new URL(endpoint).host}` : '';
  const message = `The ${origin} obtains no access token${server}: ${fault}`;
  return new GatewayError('token_unavailable', message, 'provider');
}
