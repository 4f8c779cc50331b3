/** Provides the tokens with which the gateway calls MCP servers: its own, or one in exchange for the caller's (RFC 8693). */
import { hash } from 'node:crypto';
import { decodeJwt } from 'jose';
import type { Clock } from '../../clock.ts';
import type { ClientLogin } from '../../gateway/logins/client-login.ts';
import { ClientTokens, type TokenSource } from '../../gateway/logins/client-tokens.ts';
import { GatewayError } from '../../gateway/transfer/gateway-error.ts';
import { Secret } from '../../secret.ts';
import type { Outbound } from '../../upstream/outbound.ts';
import { PlaneFault, serverUnusable } from '../messages/plane-fault.ts';
import type { CompleteLogin, LoginCompletion, LoginServer } from './login-completion.ts';
import { OAuthFault } from './oauth-fault.ts';
import { isComplete, type ServerLogin } from './server-login.ts';

export interface ServerTokensOptions {
  readonly outbound: Pick<Outbound, 'request'>;
  readonly clock: Clock;
  /** Issuers that may receive tokens of callers, beside the issuer of each token. */
  readonly authorizationServers: readonly string[];
  readonly completion: Pick<LoginCompletion, 'complete'>;
}

/** The server and the caller of a request. */
interface TokenUse {
  readonly server: LoginServer;
  readonly login: ServerLogin;
  /** The verified token of the caller; null when it sent a key. */
  readonly callerToken: Secret | null;
}

export class ServerTokens {
  readonly #granted: ClientTokens;
  /** Apart, so that many callers displace no token of an integration. */
  readonly #exchanged: ClientTokens;
  readonly #origins: ReadonlySet<string>;
  readonly #completion: ServerTokensOptions['completion'];

  constructor({ outbound, clock, authorizationServers, completion }: ServerTokensOptions) {
    this.#completion = completion;
    this.#granted = new ClientTokens({ outbound, clock });
    this.#exchanged = new ClientTokens({ outbound, clock });
    this.#origins = new Set(authorizationServers.map((issuer) => new URL(issuer).origin));
  }

  /** @throws PlaneFault for a caller whose credential cannot be exchanged */
  sourceOf(use: TokenUse): Pick<TokenSource, 'token'> {
    const { login, server, callerToken } = use;
    if (login.exchangesToken && callerToken === null) throw tokenRequired();
    if (isComplete(login)) {
      const provider = login.identityProvider?.reveal() ?? null;
      return this.#sourceOf(use, login.client, provider);
    }
    return {
      token: async (refused) => {
        const { client, identityProvider } = await this.#complete(server, login);
        const secret = new Secret(client, client.origin);
        return await this.#sourceOf(use, secret, identityProvider).token(refused);
      },
    };
  }

  async #complete(server: LoginServer, login: ServerLogin): Promise<CompleteLogin> {
    try {
      return await this.#completion.complete(server, login);
    } catch (error) {
      if (!(error instanceof OAuthFault)) throw error;
      const message = `The ${login.client.reveal().origin} obtains no access token: ${error.message}`;
      throw new GatewayError('token_unavailable', message, 'provider', { cause: error });
    }
  }

  #sourceOf(
    { server: { integrationId }, login, callerToken }: TokenUse,
    secret: Secret<ClientLogin>,
    provider: ClientLogin | null,
  ): TokenSource {
    if (!login.exchangesToken || callerToken === null) {
      return this.#granted.sourceOf(integrationId, secret);
    }
    const client = secret.reveal();
    const subjectToken = callerToken.reveal();
    this.#requireIssuer(provider ?? client, subjectToken);
    const asserted = provider && { ...client, assertedBy: { ...provider, subjectToken } };
    const own = new Secret(asserted ?? { ...client, subjectToken }, client.origin);
    const digest = hash('sha256', subjectToken, 'base64url');
    return this.#exchanged.sourceOf(`${integrationId} ${digest}`, own);
  }

  /** Prevents an integration from collecting tokens of callers, which the gateway accepts. */
  #requireIssuer({ endpoint, isForAssertion }: ClientLogin, token: string): void {
    const origin = URL.parse(endpoint)?.origin;
    const { iss = '' } = decodeJwt(token);
    // A missing endpoint is reported by the request for the token.
    if (origin === undefined || origin === URL.parse(iss)?.origin) return;
    if (this.#origins.has(origin)) return;
    const member = isForAssertion ? 'oauth_idp_token_endpoint' : 'oauth_token_endpoint';
    throw serverUnusable(
      `its ${member} belongs neither to the issuer of the token nor to GATEWRIGHT_MCP_AUTHORIZATION_SERVERS`,
    );
  }
}

function tokenRequired(): PlaneFault {
  const message =
    'This MCP server is called on behalf of users: authenticate with a token, not with a key';
  return new PlaneFault('token_required', message);
}
