/** Finds the gateway's client at an authorization server, and registers one where none exists; clients are kept by issuer. */
import { hash } from 'node:crypto';
import { Secret } from '../../secret.ts';
import * as stored from '../../store/mcp/mcp-oauth-clients.ts';
import {
  type ConfiguredClient,
  isAuthMethod,
  knownClient,
  type OAuthClient,
  type RegisteredClient,
  registerClient,
} from './oauth-client.ts';
import { OAuthFault } from './oauth-fault.ts';
import type { OAuthGrant } from './oauth-grant.ts';
import { shortUrl } from './oauth-http.ts';
import type { OAuthParts, OAuthServer } from './oauth-server.ts';
import type { AuthorizationServer } from './server-metadata.ts';

type IntegrationPlace = Pick<OAuthServer, 'organisationId' | 'integrationId'>;

/** A secret that expires sooner is replaced. */
const marginMs = 10 * 60_000;

export class OAuthClients {
  readonly #parts: OAuthParts;

  constructor(parts: OAuthParts) {
    this.#parts = parts;
  }

  /** The client for a new authorization. @throws OAuthFault */
  async open(server: OAuthServer, at: AuthorizationServer): Promise<OAuthClient> {
    const { addresses } = this.#parts;
    if (addresses === null) throw new OAuthFault('GATEWRIGHT_MCP_URL is not set');
    const configured = await this.#configured(server, at.tokenEndpoint);
    const known = knownClient(at, configured, addresses);
    if (known === null) return this.#registered(server, at);
    if (configured !== null) await this.#requireOwnIssuer(server, at, configured);
    return known;
  }

  /** The client of an earlier grant; null when it exists no more. */
  async find(server: OAuthServer, grant: OAuthGrant): Promise<OAuthClient | null> {
    const { clientId: id, authMethod, issuer } = grant;
    const configured = await this.#configured(server, grant.tokenEndpoint);
    if (configured !== null)
      return configured.id === id ? { id, secret: configured.secret, authMethod } : null;
    if (id === this.#parts.addresses?.metadataUrl) return { id, secret: null, authMethod };
    const row = await stored.find(this.#parts.database.readable, keyOf(server, issuer));
    return row === undefined || row.client_id !== id ? null : this.#opened(row);
  }

  /** The client of the administrator, with its secret; null for none. */
  async #configured(
    { userOAuth }: OAuthServer,
    tokenEndpoint: string,
  ): Promise<ConfiguredClient | null> {
    const client = userOAuth?.client ?? null;
    if (client === null || client.mapped === null) return client;
    const secret = await this.#parts.secrets.read(client.mapped, tokenEndpoint);
    return { ...client, secret: new Secret(secret, 'the OAuth client of an MCP integration') };
  }

  /** Forgets a client that its authorization server does not know any more. */
  async forget(server: OAuthServer, { issuer, clientId }: OAuthGrant): Promise<void> {
    await stored.deleteClient(this.#parts.database.db, keyOf(server, issuer), clientId);
  }

  async #registered(server: OAuthServer, at: AuthorizationServer): Promise<OAuthClient> {
    const { database, keyring, requests, now } = this.#parts;
    const { redirectUri } = this.#parts.addresses!;
    const key = keyOf(server, at.issuer);
    const row = await stored.find(database.db, key);
    if (row !== undefined) {
      const isUsable =
        row.redirect_uri === redirectUri &&
        (row.expires_at === null || row.expires_at > now() + marginMs);
      if (isUsable) return this.#opened(row);
      await stored.deleteClient(database.db, key, row.client_id);
    }
    const client = await registerClient(requests, at, this.#parts.addresses!, now());
    const sealer = await keyring.sealerOf(server.organisationId);
    const secret = client.secret?.reveal() ?? null;
    const isFirst = await stored.insert(database.db, {
      ...key,
      issuer: at.issuer,
      redirect_uri: redirectUri,
      client_id: client.id,
      client_secret: secret === null ? null : sealer.seal(secret, placeOfSecret(key)),
      auth_method: client.authMethod,
      expires_at: client.expiresAt,
      created_at: now(),
    });
    if (isFirst) return client;
    const other = await stored.find(database.db, key);
    return other === undefined ? client : this.#opened(other);
  }

  async #opened(row: stored.StoredOAuthClient): Promise<RegisteredClient> {
    const { client_id: id, client_secret: sealed, auth_method: method, issuer } = row;
    const unsealer = await this.#parts.keyring.unsealerOf(row.organisation_id);
    const secret = sealed === null ? null : unsealer.unseal(sealed, placeOfSecret(row));
    return {
      id,
      secret: secret === null ? null : new Secret(secret, `the client at ${shortUrl(issuer)}`),
      authMethod: isAuthMethod(method) ? method : 'none',
      expiresAt: row.expires_at,
    };
  }

  /**
   * The first issuer at which a configured secret is used is its only one, unless one is configured: a server
   * that names another issuer later would receive the secret there.
   */
  async #requireOwnIssuer(
    server: OAuthServer,
    { issuer }: AuthorizationServer,
    { id, secret, issuer: own }: ConfiguredClient,
  ): Promise<void> {
    if (own === null && secret === null) return;
    if (own === null) return await this.requireBoundIssuer(server, issuer, id);
    if (own !== issuer) throw otherIssuer(issuer, own);
  }

  /** Binds a client to the first issuer at which it is used. @throws OAuthFault for another one */
  async requireBoundIssuer(server: IntegrationPlace, issuer: string, clientId: string) {
    const bound = await this.#bind(server, issuer, clientId);
    if (bound !== issuer) throw otherIssuer(issuer, bound);
  }

  /** Stores the issuer of a configured client, unless it has one; returns the one that is stored. */
  async #bind(server: IntegrationPlace, issuer: string, clientId: string): Promise<string> {
    const { database, now } = this.#parts;
    const key = keyOf(server, `client ${clientId}`);
    const binding = {
      ...key,
      issuer,
      redirect_uri: this.#parts.addresses?.redirectUri ?? '',
      client_id: clientId,
      client_secret: null,
      auth_method: 'none',
      expires_at: null,
      created_at: now(),
    };
    if (await stored.insert(database.db, binding)) return issuer;
    return (await stored.find(database.db, key))?.issuer ?? issuer;
  }
}

function keyOf({ organisationId, integrationId }: IntegrationPlace, issuer: string) {
  return {
    organisation_id: organisationId,
    mcp_integration_id: integrationId,
    issuer_hash: hash('sha256', issuer),
  };
}

function placeOfSecret({ mcp_integration_id, issuer_hash }: stored.OAuthClientKey): string {
  return `mcp_oauth_clients|${mcp_integration_id}|${issuer_hash}|client_secret`;
}

function otherIssuer(issuer: string, bound: string): OAuthFault {
  return new OAuthFault(
    `the server names the authorization server ${shortUrl(issuer)}, but the client of the integration ` +
      `is for ${shortUrl(bound)}; set configurations.oauth_client_id to a client that is registered there`,
  );
}
