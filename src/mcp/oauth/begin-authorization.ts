/** Begins the authorization of a user at the authorization server of an MCP server. */
import { hash, randomBytes } from 'node:crypto';
import * as mcpAuthorizations from '../../store/mcp/mcp-authorizations.ts';
import * as mcpConnections from '../../store/mcp/mcp-connections.ts';
import { verifierPlace } from './finish-authorization.ts';
import { OAuthClients } from './oauth-clients.ts';
import { OAuthFault } from './oauth-fault.ts';
import type { OAuthGrant, PendingGrant } from './oauth-grant.ts';
import type { OAuthParts, OAuthServer } from './oauth-server.ts';
import { discoverResource } from './resource-discovery.ts';
import { type AuthorizationServer, discoverServer, firstUsable } from './server-metadata.ts';

/** An authorization that a browser can continue. */
export interface BegunAuthorization {
  /** Where the browser goes next. */
  readonly url: string;
  /** A secret of the browser, which it must send back. */
  readonly browserValue: string;
  readonly state: string;
  readonly grant: PendingGrant;
}

/** How long a user may take at the authorization server. */
export const lifetimeMs = 10 * 60_000;

const randomText = (): string => randomBytes(32).toString('base64url');
const digestOf = (text: string): string => hash('sha256', text);

export class AuthorizationRequests {
  readonly #parts: OAuthParts;
  readonly #clients: OAuthClients;

  constructor(parts: OAuthParts) {
    this.#parts = parts;
    this.#clients = new OAuthClients(parts);
  }

  /**
   * @param wanted scope that the server has demanded beyond the usual one; null for none
   * @throws OAuthFault
   */
  async begin(
    server: OAuthServer,
    userId: string,
    wanted: string | null,
  ): Promise<BegunAuthorization> {
    const { requests, addresses, keyring, database, now } = this.#parts;
    if (addresses === null) throw new OAuthFault('GATEWRIGHT_MCP_URL is not set');
    const resource = await discoverResource(requests, server.url);
    const replacing = server.userOAuth?.metadata ?? null;
    const at = await firstUsable(resource.issuers, (issuer) =>
      discoverServer(requests, { issuer, replacing }),
    );
    const client = await this.#clients.open(server, at);
    const granted = wanted === null ? null : await this.#grantedScope(server, userId);
    const usual = server.userOAuth?.scope ?? granted ?? resource.scope;
    const grant: PendingGrant = {
      slug: server.slug,
      issuer: at.issuer,
      tokenEndpoint: at.tokenEndpoint,
      revocationEndpoint: at.revocationEndpoint,
      clientId: client.id,
      authMethod: client.authMethod,
      resource: resource.resource,
      scope: requestedScope(at, usual, wanted),
      redirectUri: addresses.redirectUri,
      namesIssuer: at.namesIssuer,
    };
    const [state, browserValue, verifier] = [randomText(), randomText(), randomText()];
    const { organisationId: organisation_id, id: mcp_server_id } = server;
    const state_hash = digestOf(state);
    const sealer = await keyring.sealerOf(organisation_id);
    await database.transaction((tx) => {
      const row = {
        organisation_id,
        state_hash,
        browser_hash: digestOf(browserValue),
        mcp_server_id,
        user_id: userId,
        verifier: sealer.seal(verifier, verifierPlace(state_hash)),
        request: JSON.stringify(grant),
        expires_at: now() + lifetimeMs,
      };
      return mcpAuthorizations.insert(tx, row, now());
    });
    const url = authorizationUrl(at, grant, { state, challenge: challengeOf(verifier) });
    return { url, browserValue: `${organisation_id}.${browserValue}`, state, grant };
  }

  /** The scope of the user's present connection, which a wider one includes; null without one. */
  async #grantedScope({ organisationId, id }: OAuthServer, userId: string): Promise<string | null> {
    const key = { organisation_id: organisationId, mcp_server_id: id, user_id: userId };
    const row = await mcpConnections.find(this.#parts.database.readable, key);
    if (row === undefined || row.oauth_grant === null) return null;
    return (JSON.parse(row.oauth_grant) as OAuthGrant).scope;
  }
}

/** PKCE with S256 (RFC 7636). */
function challengeOf(verifier: string): string {
  return hash('sha256', verifier, 'base64url');
}

function requestedScope(
  { scopes }: AuthorizationServer,
  usual: string | null,
  wanted: string | null,
): string | null {
  const all = new Set([usual, wanted].flatMap((scope) => scope?.split(' ') ?? []));
  // Without it, OpenID servers issue no refresh token.
  if (scopes.includes('offline_access')) all.add('offline_access');
  return all.size === 0 ? null : [...all].join(' ');
}

function authorizationUrl(
  { authorizationEndpoint }: AuthorizationServer,
  { clientId, redirectUri, resource, scope }: PendingGrant,
  { state, challenge }: { readonly state: string; readonly challenge: string },
): string {
  const url = new URL(authorizationEndpoint);
  const parameters: Record<string, string> = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    resource,
    ...(scope !== null && { scope }),
    // OpenID Connect Core, Section 11: offline access needs consent.
    ...(scope?.split(' ').includes('offline_access') === true && { prompt: 'consent' }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}
