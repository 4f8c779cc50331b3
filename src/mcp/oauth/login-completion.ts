/** Completes the login of the gateway at an MCP server: finds a token endpoint that is not configured, and reads secrets from secret managers. */
import { LRUCache } from 'lru-cache';
import type { MappedField } from '../../auth/mapped-fields.ts';
import type { ClientLogin } from '../../gateway/logins/client-login.ts';
import type { OAuthMetadata } from '../../model/mcp/external-auth.ts';
import type { ClientSecrets } from './client-secrets.ts';
import type { OAuthClients } from './oauth-clients.ts';
import type { OAuthRequests } from './oauth-http.ts';
import type { OAuthServer } from './oauth-server.ts';
import { discoverResource } from './resource-discovery.ts';
import type { ServerLogin } from './server-login.ts';
import { discoverTokenIssuer, firstUsable, type TokenIssuer } from './server-metadata.ts';

export interface LoginCompletionOptions {
  readonly requests: OAuthRequests;
  readonly clients: Pick<OAuthClients, 'requireBoundIssuer'>;
  readonly secrets: ClientSecrets;
}

/** The server of a login. */
export type LoginServer = Pick<OAuthServer, 'organisationId' | 'integrationId' | 'url'>;

/** The logins of one server with all that their requests need. */
export interface CompleteLogin {
  readonly client: ClientLogin;
  readonly identityProvider: ClientLogin | null;
}

const issuersMax = 10_000;
const cachedMs = 10 * 60_000;

export class LoginCompletion {
  readonly #options: LoginCompletionOptions;
  readonly #issuers = new LRUCache<string, Promise<TokenIssuer>>({
    max: issuersMax,
    ttl: cachedMs,
  });

  constructor(options: LoginCompletionOptions) {
    this.#options = options;
  }

  /** @throws OAuthFault */
  async complete(server: LoginServer, login: ServerLogin): Promise<CompleteLogin> {
    const provider = login.identityProvider?.reveal() ?? null;
    const client = await this.#withEndpoint(server, login);
    return {
      client: await this.#withSecrets(client, login.mapped, ownSecrets),
      identityProvider: provider && (await this.#withSecrets(provider, login.mapped, idpSecrets)),
    };
  }

  async #withEndpoint(server: LoginServer, login: ServerLogin): Promise<ClientLogin> {
    const client = login.client.reveal();
    if (client.endpoint !== '') return client;
    const found = await this.#issuerOf(server, client, login.metadata);
    const isBySecret = client.authMethod !== 'private_key_jwt';
    return {
      ...client,
      endpoint: found.tokenEndpoint,
      issuer: found.issuer,
      ...(isBySecret && !login.namesMethod && { authMethod: found.secretMethod }),
    };
  }

  /** Concurrent requests share one discovery; a failed one is repeated by the next request. */
  #issuerOf(
    server: LoginServer,
    client: ClientLogin,
    replacing: OAuthMetadata | null,
  ): Promise<TokenIssuer> {
    const key = JSON.stringify([
      server.integrationId,
      server.url.href,
      client.issuer,
      client.clientId,
      replacing,
    ]);
    const known = this.#issuers.get(key);
    if (known !== undefined) return known;
    const finding = this.#discover(server, client, replacing);
    this.#issuers.set(key, finding);
    finding.catch(() => this.#issuers.delete(key));
    return finding;
  }

  /** Without `oauth_issuer` the first issuer that the server names stays the only one for the client. */
  async #discover(
    server: LoginServer,
    { issuer, clientId }: ClientLogin,
    replacing: OAuthMetadata | null,
  ): Promise<TokenIssuer> {
    const { requests, clients } = this.#options;
    if (issuer !== '') return await discoverTokenIssuer(requests, { issuer, replacing });
    const { issuers } = await discoverResource(requests, server.url);
    const found = await firstUsable(issuers, (one) =>
      discoverTokenIssuer(requests, { issuer: one, replacing }),
    );
    await clients.requireBoundIssuer(server, found.issuer, clientId);
    return found;
  }

  async #withSecrets(
    client: ClientLogin,
    mapped: readonly MappedField[],
    names: Readonly<Record<string, 'clientSecret' | 'privateKey'>>,
  ): Promise<ClientLogin> {
    const values: Partial<Record<'clientSecret' | 'privateKey', string>> = {};
    for (const field of mapped) {
      const member = names[field.target[0]!];
      if (member === undefined) continue;
      values[member] = await this.#options.secrets.read(field, client.endpoint);
    }
    return { ...client, ...values };
  }
}

const ownSecrets = {
  oauth_client_secret: 'clientSecret',
  oauth_private_key: 'privateKey',
} as const;
const idpSecrets = { oauth_idp_client_secret: 'clientSecret' } as const;
