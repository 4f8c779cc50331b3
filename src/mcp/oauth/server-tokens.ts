/** Provides the tokens with which the gateway calls MCP servers: its own, or one in exchange for the caller's (RFC 8693). */
import { hash } from 'node:crypto';
import { decodeJwt } from 'jose';
import type { Clock } from '../../clock.ts';
import type { ClientLogin } from '../../gateway/logins/client-login.ts';
import { ClientTokens, type TokenSource } from '../../gateway/logins/client-tokens.ts';
import { Secret } from '../../secret.ts';
import type { Outbound } from '../../upstream/outbound.ts';
import { PlaneFault, serverUnusable } from '../messages/plane-fault.ts';
import type { ServerLogin } from './server-login.ts';

export interface ServerTokensOptions {
  readonly outbound: Pick<Outbound, 'request'>;
  readonly clock: Clock;
  /** Issuers that may receive tokens of callers, beside the issuer of each token. */
  readonly authorizationServers: readonly string[];
}

/** The server and the caller of a request. */
interface TokenUse {
  readonly integrationId: string;
  readonly login: ServerLogin;
  /** The verified token of the caller; null when it sent a key. */
  readonly callerToken: Secret | null;
}

export class ServerTokens {
  readonly #granted: ClientTokens;
  /** Apart, so that many callers displace no token of an integration. */
  readonly #exchanged: ClientTokens;
  readonly #origins: ReadonlySet<string>;

  constructor({ outbound, clock, authorizationServers }: ServerTokensOptions) {
    this.#granted = new ClientTokens({ outbound, clock });
    this.#exchanged = new ClientTokens({ outbound, clock });
    this.#origins = new Set(authorizationServers.map((issuer) => new URL(issuer).origin));
  }

  /** @throws PlaneFault for a caller whose credential cannot be exchanged */
  sourceOf({ integrationId, login, callerToken }: TokenUse): TokenSource {
    if (!login.exchangesToken) return this.#granted.sourceOf(integrationId, login.client);
    if (callerToken === null) throw tokenRequired();
    const client = login.client.reveal();
    const provider = login.identityProvider?.reveal() ?? null;
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
