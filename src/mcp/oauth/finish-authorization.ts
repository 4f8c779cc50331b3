/** Finishes the authorization of a user: verifies the response, exchanges its code and stores the tokens. */
import { hash } from 'node:crypto';
import { connectionContext } from '../../auth/mcp-secrets.ts';
import type { Db } from '../../store/connection/db.ts';
import * as mcpAuthorizations from '../../store/mcp/mcp-authorizations.ts';
import * as mcpConnections from '../../store/mcp/mcp-connections.ts';
import * as mcpIntegrations from '../../store/mcp/mcp-integrations.ts';
import * as mcpServers from '../../store/mcp/mcp-servers.ts';
import * as users from '../../store/people/users.ts';
import type { OAuthClient } from './oauth-client.ts';
import { OAuthClients } from './oauth-clients.ts';
import { OAuthFault } from './oauth-fault.ts';
import type { PendingGrant } from './oauth-grant.ts';
import { shortUrl } from './oauth-http.ts';
import type { OAuthParts, OAuthServer } from './oauth-server.ts';
import { type GrantedTokens, requestTokens } from './token-endpoint.ts';

/** Parameters with which an authorization server sends a browser back. */
export type AuthorizationResponse = Readonly<Record<string, string>>;

export interface AuthorizationResponsesOptions extends OAuthParts {
  /** Finds a server by its organisation and slug. */
  readonly findServer: (organisationId: string, slug: string) => Promise<OAuthServer>;
}

const digestOf = (text: string): string => hash('sha256', text);

export class AuthorizationResponses {
  readonly #options: AuthorizationResponsesOptions;
  readonly #clients: OAuthClients;

  constructor(options: AuthorizationResponsesOptions) {
    this.#options = options;
    this.#clients = new OAuthClients(options);
  }

  /**
   * Exchanges the code and stores the tokens. An authorization is finished once, by the browser that began it.
   *
   * @throws OAuthFault
   */
  async finish(response: AuthorizationResponse, browserValue: string | null): Promise<OAuthServer> {
    const row = await this.#take(response.state ?? '', browserValue ?? '');
    const grant = JSON.parse(row.request) as PendingGrant;
    requireIssuer(response, grant);
    const { code, error } = response;
    if (error !== undefined)
      throw new OAuthFault(`${shortUrl(grant.issuer)} returned ${quotedCode(error)}`);
    if (code === undefined) throw new OAuthFault(`${shortUrl(grant.issuer)} returned no code`);
    const server = await this.#options.findServer(row.organisation_id, grant.slug);
    requireUnchanged(server, row, grant);
    const client = await this.#clients.find(server, grant);
    if (client === null) throw new OAuthFault('the OAuth client has changed meanwhile; try again');
    const tokens = await this.#exchange(server, row, { grant, client, code });
    await this.#store(server, row, { ...grant, scope: tokens.scope ?? grant.scope }, tokens);
    return server;
  }

  async #take(state: string, browserValue: string): Promise<mcpAuthorizations.StoredAuthorization> {
    const [organisationId = '', secret = ''] = browserValue.split('.');
    const { database, now } = this.#options;
    const key = {
      organisation_id: organisationId,
      state_hash: digestOf(state),
      browser_hash: digestOf(secret),
    };
    const row = await database.transaction((tx) => mcpAuthorizations.take(tx, key, now()));
    if (row !== undefined) return row;
    const message =
      'this authorization was not begun in this browser within ten minutes, or is finished already';
    throw new OAuthFault(message);
  }

  async #exchange(
    server: OAuthServer,
    row: mcpAuthorizations.StoredAuthorization,
    sent: { readonly grant: PendingGrant; readonly client: OAuthClient; readonly code: string },
  ): Promise<GrantedTokens> {
    const { requests, keyring, now } = this.#options;
    const { grant, client, code } = sent;
    const unsealer = await keyring.unsealerOf(row.organisation_id);
    const parameters = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: grant.redirectUri,
      code_verifier: unsealer.unseal(row.verifier, verifierPlace(row.state_hash)),
      resource: grant.resource,
    };
    try {
      return await requestTokens(requests, { url: grant.tokenEndpoint, client, parameters }, now());
    } catch (error) {
      // A client that was registered dynamically may be gone; the next authorization registers another.
      const isUnknown = error instanceof OAuthFault && error.code === 'invalid_client';
      if (isUnknown) await this.#clients.forget(server, grant);
      throw error;
    }
  }

  async #store(
    server: OAuthServer,
    row: mcpAuthorizations.StoredAuthorization,
    { slug: _, redirectUri: __, namesIssuer: ___, ...grant }: PendingGrant,
    { accessToken, refreshToken, expiresAt }: GrantedTokens,
  ): Promise<void> {
    const { database, keyring, now } = this.#options;
    const { organisation_id, mcp_server_id, user_id } = row;
    const key = { organisation_id, mcp_server_id, user_id };
    const sealer = await keyring.sealerOf(organisation_id);
    await database.transaction(async (tx) => {
      await requireStillWanted(tx, server, user_id);
      await mcpConnections.put(tx, {
        ...key,
        access_token: sealer.seal(accessToken.reveal(), connectionContext(key, 'access_token')),
        refresh_token:
          refreshToken === null
            ? null
            : sealer.seal(refreshToken.reveal(), connectionContext(key, 'refresh_token')),
        oauth_grant: JSON.stringify(grant),
        expires_at: expiresAt,
        created_at: now(),
        last_updated_at: now(),
      });
    });
  }
}

/** Where the PKCE code verifier of an authorization is sealed. */
export function verifierPlace(stateHash: string): string {
  return `mcp_authorizations|${stateHash}|verifier`;
}

/** The issuer is compared as it was sent (RFC 9207, Section 2.4), before anything else of the response is used. */
function requireIssuer({ iss }: AuthorizationResponse, grant: PendingGrant): void {
  if (iss === undefined ? !grant.namesIssuer : iss === grant.issuer) return;
  const what = iss === undefined ? 'names no issuer' : 'comes from another issuer';
  throw new OAuthFault(`the response ${what}, but must come from ${shortUrl(grant.issuer)}`);
}

function requireUnchanged(
  { id, url, userOAuth }: OAuthServer,
  { mcp_server_id }: mcpAuthorizations.StoredAuthorization,
  { resource }: PendingGrant,
): void {
  const isSame =
    id === mcp_server_id && userOAuth !== null && new URL(resource).origin === url.origin;
  if (!isSame) throw new OAuthFault('the MCP server has changed meanwhile; try again');
}

/** Locks what a deletion or another address would change, so that no token outlives it. */
async function requireStillWanted(
  tx: Db,
  { organisationId, id, integrationId, url }: OAuthServer,
  userId: string,
): Promise<void> {
  const row = await mcpServers.findByIdOrSlugForUpdate(tx, organisationId, id);
  const integration = await mcpIntegrations.findByIdOrSlugForShare(
    tx,
    organisationId,
    integrationId,
  );
  const user = await users.findByIdForShare(tx, organisationId, userId);
  const isSame =
    row !== undefined &&
    integration !== undefined &&
    new URL(integration.url).origin === url.origin;
  if (!isSame) throw new OAuthFault('the MCP server has changed meanwhile; try again');
  if (user === undefined) throw new OAuthFault('the user does not exist any more');
}

/** Error codes are short words; anything else is replaced. */
function quotedCode(code: string): string {
  return /^[a-z_]{1,64}$/.test(code) ? code : 'an error';
}
