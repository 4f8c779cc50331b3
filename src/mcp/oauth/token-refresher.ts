/** Refreshes the tokens of a connection; of all processes one uses a refresh token at a time. */
import { randomUUID } from 'node:crypto';
import { connectionContext } from '../../auth/mcp-secrets.ts';
import * as mcpConnections from '../../store/mcp/mcp-connections.ts';
import { OAuthClients } from './oauth-clients.ts';
import { OAuthFault } from './oauth-fault.ts';
import type { OAuthGrant } from './oauth-grant.ts';
import { requestTimeoutMs, shortUrl } from './oauth-http.ts';
import type { OAuthParts, OAuthServer } from './oauth-server.ts';
import { requestTokens } from './token-endpoint.ts';

/** A refresh that has not ended by then was lost with its process. Longer than its request may take. */
const claimMs = 3 * requestTimeoutMs;
/** Time until the next refresh when the authorization server did not answer. */
const pauseMs = 5_000;
/** Bound of a refresh, of one that was lost before it included. */
export const refreshMs = claimMs + requestTimeoutMs;

/** Errors after which no refresh can succeed. */
const finalErrors: readonly (string | null)[] = ['invalid_grant', 'unauthorized_client'];

/** The tokens to refresh. */
interface Refreshable {
  readonly row: mcpConnections.StoredMcpConnection;
  readonly grant: OAuthGrant;
}

export class TokenRefresher {
  readonly #parts: OAuthParts;
  readonly #clients: OAuthClients;

  constructor(parts: OAuthParts) {
    this.#parts = parts;
    this.#clients = new OAuthClients(parts);
  }

  /**
   * Returns whether the row has changed: new tokens, or deleted because no refresh can succeed. False when another
   * process refreshes it.
   *
   * @throws OAuthFault when the authorization server does not answer
   */
  async refresh(server: OAuthServer, { row, grant }: Refreshable): Promise<boolean> {
    const { database, now } = this.#parts;
    const claim = { id: randomUUID(), version: row.version, until: now() + claimMs };
    if (!(await mcpConnections.claimRefresh(database.db, row, claim, now()))) return false;
    try {
      await this.#renew(server, row, { grant, claim });
    } catch (error) {
      if (!(await this.#isFinal(server, grant, error))) {
        await mcpConnections.releaseRefresh(database.db, row, claim, now() + pauseMs);
        throw error;
      }
      await database.transaction((tx) => mcpConnections.deleteVersion(tx, row, row.version));
    }
    return true;
  }

  /** Whether no later refresh can succeed. */
  async #isFinal(server: OAuthServer, grant: OAuthGrant, error: unknown): Promise<boolean> {
    if (!(error instanceof OAuthFault)) return false;
    if (finalErrors.includes(error.code)) return true;
    // The secret of a configured client can be corrected; a client that was registered dynamically is gone.
    if (error.code !== 'invalid_client' || server.userOAuth?.client != null) return false;
    await this.#clients.forget(server, grant);
    return true;
  }

  async #renew(
    server: OAuthServer,
    row: mcpConnections.StoredMcpConnection,
    { grant, claim }: { readonly grant: OAuthGrant; readonly claim: mcpConnections.RefreshClaim },
  ): Promise<void> {
    const { requests, keyring, database, now } = this.#parts;
    const client = await this.#clients.find(server, grant);
    if (client === null) throw new OAuthFault('the OAuth client has changed', 'invalid_grant');
    const sealer = await keyring.sealerOf(row.organisation_id);
    const place = connectionContext(row, 'refresh_token');
    const refreshToken = sealer.unseal(row.refresh_token!, place);
    const { tokenEndpoint: url, resource } = grant;
    const parameters = { grant_type: 'refresh_token', refresh_token: refreshToken, resource };
    // A process that was stopped for a while must not use the token beside the next one.
    if (now() > claim.until - requestTimeoutMs) throw unanswered(grant);
    const granted = await requestTokens(requests, { url, client, parameters }, now());
    const next = granted.refreshToken?.reveal() ?? refreshToken;
    const accessPlace = connectionContext(row, 'access_token');
    const tokens = {
      access_token: sealer.seal(granted.accessToken.reveal(), accessPlace),
      refresh_token: sealer.seal(next, place),
      expires_at: granted.expiresAt,
      last_updated_at: now(),
    };
    await database.transaction((tx) => mcpConnections.storeRefreshed(tx, row, claim, tokens));
  }
}

export function unanswered({ issuer }: OAuthGrant): OAuthFault {
  return new OAuthFault(`${shortUrl(issuer)} has not refreshed the token in time`);
}
